;; Prints a line, and then fills a large memory in an endless loop.
(import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
(func (export "handle-http-request") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
  (if (i32.eq (local.get 2) (i32.const 777)) (then
    (drop (call $fd_write (i32.const 1) (i32.const 1312) (i32.const 1) (i32.const 1320)))
    (drop (memory.grow (i32.const 100)))
    (loop $l
      (memory.fill (i32.const 65536) (i32.const 1) (i32.const 6000000))
      (br $l))))
  (i32.const 1024))
(func (export "canonical_abi_realloc") (param i32 i32 i32 i32) (result i32)
  (call $bump (local.get 2) (local.get 3)))
(func (export "canonical_abi_free") (param i32 i32 i32))
