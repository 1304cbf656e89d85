;; Traps when the host frees its response.
(func (export "handle-http-request") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
  (global.set $hostile (i32.eq (local.get 2) (i32.const 777)))
  (i32.const 1024))
(global $hostile (mut i32) (i32.const 0))
(func (export "canonical_abi_realloc") (param i32 i32 i32 i32) (result i32)
  (call $bump (local.get 2) (local.get 3)))
(func (export "canonical_abi_free") (param i32 i32 i32)
  (if (global.get $hostile) (then unreachable)))
