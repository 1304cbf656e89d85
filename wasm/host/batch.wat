;; Between host and guest: many calls of realloc or free in one. Memory holds
;; entries of two words; alloc finds size and alignment and leaves size and
;; pointer, free finds pointer and size. $end is the entries' size in bytes, not 0.
(module
  (import "guest" "canonical_abi_realloc" (func $realloc (param i32 i32 i32 i32) (result i32)))
  (import "guest" "canonical_abi_free" (func $free (param i32 i32 i32)))
  (memory (export "memory") 1 1)
  (func (export "alloc") (param $end i32) (local $i i32)
    (loop $next
      (i32.store offset=4 (local.get $i) (call $realloc (i32.const 0) (i32.const 0)
        (i32.load offset=4 (local.get $i)) (i32.load (local.get $i))))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 8))) (local.get $end)))))
  (func (export "free") (param $end i32) (local $i i32)
    (loop $next
      (call $free (i32.load (local.get $i)) (i32.load offset=4 (local.get $i)) (i32.const 1))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 8))) (local.get $end))))))
