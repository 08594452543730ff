;; Finds the long strings of a JSON text and checks every string of it, 16 bytes at a time.
;; `npm run wasm` writes it into long-strings-wasm.ts, which is what is loaded.
;;
;; The text comes in windows. `scan` reads one and says how much of it is done; the rest, at most 11 bytes
;; of an escape that is not all there yet, must be the beginning of the next window.
;;
;; Memory: 0x00000 the window, at most 0x10010 bytes, and 16 zero bytes behind the last one
;;         0x10100 for each byte, one more than its value as a hex digit, or 0
;;         0x10200 for each byte, 1 where it may follow a backslash (u has a rule of its own), or 0
;;         0x10400 what was found: pairs of 32-bit numbers, start and end in bytes of the whole text
(module
  (memory (export "memory") 2 2)

  ;; Whether the window begins inside of a string, and where the string that was begun last begins.
  (global $inside (export "inside") (mut i32) (i32.const 0))
  (global $start (mut i32) (i32.const 0))
  ;; How many pairs there are. The caller takes them and sets it to 0 after each window.
  (global $found (export "found") (mut i32) (i32.const 0))

  (data (i32.const 0x10130) "\01\02\03\04\05\06\07\08\09\0a")
  (data (i32.const 0x10141) "\0b\0c\0d\0e\0f\10")
  (data (i32.const 0x10161) "\0b\0c\0d\0e\0f\10")
  (data (i32.const 0x10222) "\01") ;; "
  (data (i32.const 0x1022f) "\01") ;; /
  (data (i32.const 0x1025c) "\01") ;; \
  (data (i32.const 0x10262) "\01") ;; b
  (data (i32.const 0x10266) "\01") ;; f
  (data (i32.const 0x1026e) "\01") ;; n
  (data (i32.const 0x10272) "\01") ;; r
  (data (i32.const 0x10274) "\01") ;; t

  ;; The number that four hex digits are, or -1 where they are none.
  (func $hex (param $at i32) (result i32)
    (local $a i32) (local $b i32) (local $c i32) (local $d i32)
    (local.set $a (i32.load8_u offset=0x10100 (i32.load8_u (local.get $at))))
    (local.set $b (i32.load8_u offset=0x10100 (i32.load8_u offset=1 (local.get $at))))
    (local.set $c (i32.load8_u offset=0x10100 (i32.load8_u offset=2 (local.get $at))))
    (local.set $d (i32.load8_u offset=0x10100 (i32.load8_u offset=3 (local.get $at))))
    (if (i32.or
          (i32.or (i32.eqz (local.get $a)) (i32.eqz (local.get $b)))
          (i32.or (i32.eqz (local.get $c)) (i32.eqz (local.get $d))))
      (then (return (i32.const -1))))
    (i32.add
      (i32.add (i32.shl (i32.sub (local.get $a) (i32.const 1)) (i32.const 12))
               (i32.shl (i32.sub (local.get $b) (i32.const 1)) (i32.const 8)))
      (i32.add (i32.shl (i32.sub (local.get $c) (i32.const 1)) (i32.const 4))
               (i32.sub (local.get $d) (i32.const 1)))))

  ;; The length of the \u escape at $at, 12 for the two halves of a pair; 0 for a bad one and for a lone half.
  (func $unicode (param $at i32) (result i32)
    (local $unit i32)
    (local.set $unit (call $hex (i32.add (local.get $at) (i32.const 2))))
    (if (i32.eq (local.get $unit) (i32.const -1)) (then (return (i32.const 0))))
    (if (i32.ne (i32.and (local.get $unit) (i32.const 0xf800)) (i32.const 0xd800))
      (then (return (i32.const 6))))
    (if (i32.or
          (i32.ge_u (local.get $unit) (i32.const 0xdc00))
          (i32.ne (i32.load16_u offset=6 (local.get $at)) (i32.const 0x755c)))
      (then (return (i32.const 0))))
    (local.set $unit (call $hex (i32.add (local.get $at) (i32.const 8))))
    (select (i32.const 12) (i32.const 0)
      (i32.eq (i32.and (local.get $unit) (i32.const 0xfffffc00)) (i32.const 0xdc00))))

  ;; Reads a window.
  ;; $base  where the window begins in the whole text
  ;; $size  how many bytes it has
  ;; $last  1 when no other follows, else 0
  ;; $long  the shortest string that is noted, in bytes, quotes and all
  ;; Returns how many bytes are done, or -1 for a string that JSON does not allow.
  (func (export "scan") (param $base i32) (param $size i32) (param $last i32) (param $long i32) (result i32)
    (local $at i32) (local $safe i32) (local $bytes v128) (local $marks i32) (local $step i32) (local $pair i32)
    ;; From here on an escape may reach behind the window: the longest is \ud83d\ude00.
    (local.set $safe
      (select (local.get $size) (i32.sub (local.get $size) (i32.const 11)) (local.get $last)))
    (loop $string
      (if (i32.eqz (global.get $inside))
        (then
          (block $opened
            (loop $seek
              (br_if $opened (local.tee $marks (i8x16.bitmask
                (i8x16.eq (v128.load (local.get $at)) (i8x16.splat (i32.const 0x22))))))
              (br_if $seek (i32.lt_u
                (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $size))))
            (return (local.get $size)))
          (local.set $at (i32.add (local.get $at) (i32.ctz (local.get $marks))))
          (if (i32.ge_u (local.get $at) (local.get $size)) (then (return (local.get $size))))
          (global.set $inside (i32.const 1))
          (global.set $start (i32.add (local.get $base) (local.get $at)))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))))
      (loop $body
        (block $special
          (loop $seek
            (local.set $bytes (v128.load (local.get $at)))
            ;; A bit for each quote, backslash and control character.
            (br_if $special (local.tee $marks (i8x16.bitmask (v128.or
              (v128.or
                (i8x16.eq (local.get $bytes) (i8x16.splat (i32.const 0x22)))
                (i8x16.eq (local.get $bytes) (i8x16.splat (i32.const 0x5c))))
              (i8x16.lt_u (local.get $bytes) (i8x16.splat (i32.const 0x20)))))))
            (br_if $seek (i32.lt_u
              (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $size))))
          (return (local.get $size)))
        ;; The marks are used up before bytes are loaded anew, which saves a fifth.
        (loop $mark
          (local.set $step (i32.ctz (local.get $marks)))
          (local.set $at (i32.add (local.get $at) (local.get $step)))
          (local.set $marks (i32.shr_u (local.get $marks) (local.get $step)))
          (if (i32.ge_s (local.get $at) (local.get $safe))
            (then
              (if (i32.ge_u (local.get $at) (local.get $size)) (then (return (local.get $size))))
              (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x5c)) (then (return (local.get $at))))))
          (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x5c))
            (then
              (if (i32.load8_u offset=0x10200 (i32.load8_u offset=1 (local.get $at)))
                (then
                  (local.set $at (i32.add (local.get $at) (i32.const 2)))
                  (br_if $mark (local.tee $marks (i32.shr_u (local.get $marks) (i32.const 2))))
                  (br $body)))
              (if (i32.ne (i32.load8_u offset=1 (local.get $at)) (i32.const 0x75))
                (then (return (i32.const -1))))
              (local.set $step (call $unicode (local.get $at)))
              (if (i32.eqz (local.get $step)) (then (return (i32.const -1))))
              (local.set $at (i32.add (local.get $at) (local.get $step)))
              (br $body))))
        (if (i32.ne (i32.load8_u (local.get $at)) (i32.const 0x22)) (then (return (i32.const -1))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (global.set $inside (i32.const 0))
        (if (i32.ge_u
              (i32.sub (i32.add (local.get $base) (local.get $at)) (global.get $start)) (local.get $long))
          (then
            (local.set $pair (i32.shl (global.get $found) (i32.const 3)))
            (i32.store offset=0x10400 (local.get $pair) (global.get $start))
            (i32.store offset=0x10404 (local.get $pair) (i32.add (local.get $base) (local.get $at)))
            (global.set $found (i32.add (global.get $found) (i32.const 1)))))
        (br $string)))
    (unreachable))
)
