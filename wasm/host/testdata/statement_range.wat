;; Executes a statement that is outside of its memory.
(import "sqlite" "execute" (func $execute (param i32 i32 i32 i32 i32 i32)))
(func (export "handle-http-request") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
  (if (i32.eq (local.get 2) (i32.const 777)) (then
    (call $execute (i32.const 1) (i32.const -8) (i32.const 100) (i32.const 0) (i32.const 0) (i32.const 2048))))
  (i32.const 1024))
(func (export "canonical_abi_realloc") (param i32 i32 i32 i32) (result i32)
  (call $bump (local.get 2) (local.get 3)))
(func (export "canonical_abi_free") (param i32 i32 i32))
