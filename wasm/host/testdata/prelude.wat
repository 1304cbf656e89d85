;; The beginning of every hostile guest. The test puts it and the guest's own code into
;; one (module …). A guest misbehaves for a URI, or an allocation, of exactly 777 bytes,
;; and behaves well otherwise.
(memory (export "memory") 2)
(global $heap (mut i32) (i32.const 8192))
;; At 1024 is a valid response: status 200, no headers, the body "good".
(data (i32.const 1024) "\c8\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\01\00\00\00" "\00\05\00\00" "\04\00\00\00")
(data (i32.const 1280) "good")
;; At 1312 is the text for fd_write, followed by room for its result.
(data (i32.const 1296) "for ever\0a")
(data (i32.const 1312) "\10\05\00\00" "\09\00\00\00")
(func $bump (param $align i32) (param $size i32) (result i32)
  (local $p i32)
  (global.set $heap (i32.and (i32.add (global.get $heap) (i32.const 15)) (i32.const -16)))
  (local.set $p (global.get $heap))
  (global.set $heap (i32.add (global.get $heap) (local.get $size)))
  (local.get $p))
