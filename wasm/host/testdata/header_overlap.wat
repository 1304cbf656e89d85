;; Returns 4096 headers, all of which point to the same 64 KiB.
(func $overlap (local $i i32)
  (i32.store8 (i32.const 1028) (i32.const 1))
  (i32.store (i32.const 1032) (i32.const 16384))
  (i32.store (i32.const 1036) (i32.const 4096))
  (loop $l
    (i32.store (i32.add (i32.const 16388) (local.get $i)) (i32.const 65536))
    (i32.store (i32.add (i32.const 16396) (local.get $i)) (i32.const 65536))
    (local.set $i (i32.add (local.get $i) (i32.const 16)))
    (br_if $l (i32.lt_u (local.get $i) (i32.const 65536)))))
(func (export "handle-http-request") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
  (if (i32.eq (local.get 2) (i32.const 777)) (then
    (call $overlap) (return (i32.const 1024))))
  (i32.const 1024))
(func (export "canonical_abi_realloc") (param i32 i32 i32 i32) (result i32)
  (call $bump (local.get 2) (local.get 3)))
(func (export "canonical_abi_free") (param i32 i32 i32))
