;; Returns a response whose last word is outside of its memory.
(func (export "handle-http-request") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
  (if (i32.eq (local.get 2) (i32.const 777)) (then
    (return (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 24)))))
  (i32.const 1024))
(func (export "canonical_abi_realloc") (param i32 i32 i32 i32) (result i32)
  (call $bump (local.get 2) (local.get 3)))
(func (export "canonical_abi_free") (param i32 i32 i32))
