;; Returns a header with a line break in its value.
(data (i32.const 1536) "\00\07\00\00" "\01\00\00\00" "\01\07\00\00" "\04\00\00\00")
(data (i32.const 1792) "av\0d\0ab")
(func $split
  (i32.store8 (i32.const 1028) (i32.const 1))
  (i32.store (i32.const 1032) (i32.const 1536))
  (i32.store (i32.const 1036) (i32.const 1)))
(func (export "handle-http-request") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
  (if (i32.eq (local.get 2) (i32.const 777)) (then
    (call $split) (return (i32.const 1024))))
  (i32.const 1024))
(func (export "canonical_abi_realloc") (param i32 i32 i32 i32) (result i32)
  (call $bump (local.get 2) (local.get 3)))
(func (export "canonical_abi_free") (param i32 i32 i32))
