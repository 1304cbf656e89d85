;; Requests a variable with an address for the result outside of its memory.
(import "spin-config" "get-config" (func $config (param i32 i32 i32)))
(func (export "handle-http-request") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
  (if (i32.eq (local.get 2) (i32.const 777)) (then
    (call $config (i32.const 1280) (i32.const 4) (i32.const -4))))
  (i32.const 1024))
(func (export "canonical_abi_realloc") (param i32 i32 i32 i32) (result i32)
  (call $bump (local.get 2) (local.get 3)))
(func (export "canonical_abi_free") (param i32 i32 i32))
