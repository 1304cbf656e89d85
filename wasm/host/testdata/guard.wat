;; Leaves 16 bytes between allocated blocks, and records the pointer and size of each
;; from address 2048 on. Its handler requests the variable "good" with 1600 as the address
;; of the result.
(import "spin-config" "get-config" (func $config (param i32 i32 i32)))

(global $note (mut i32) (i32.const 2048))
(func (export "handle-http-request") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
  (call $config (i32.const 1280) (i32.const 4) (i32.const 1600))
  (i32.const 1024))
(func (export "canonical_abi_realloc") (param i32 i32 i32 i32) (result i32)
  (local $p i32)
  (drop (call $bump (i32.const 1) (i32.const 16)))
  (local.set $p (call $bump (local.get 2) (local.get 3)))
  (i32.store (global.get $note) (local.get $p))
  (i32.store offset=4 (global.get $note) (local.get 3))
  (global.set $note (i32.add (global.get $note) (i32.const 8)))
  (local.get $p))
(func (export "canonical_abi_free") (param i32 i32 i32))
