package fuel

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"

	"kith/wasm/module"
	"kith/wasm/wat"
)

// everyImmediate has an instruction of every form in the binary format, and returns a
// result that depends on all of them.
const everyImmediate = `(module
  (import "from" "add" (func $add (param i32 i32) (result i32)))
  (type $pair (func (param i32 i32) (result i32)))
  (memory (export "memory") 2)
  (table $t 4 8 funcref)
  (table $e 2 externref)
  (elem $some funcref (ref.func $add) (ref.null func))
  (elem (i32.const 0) $add $twice)
  (data $text "abcdefgh")
  (global $g (mut i64) (i64.const -9223372036854775808))
  (func $twice (param i32 i32) (result i32) (i32.mul (call $add (local.get 0) (local.get 1)) (i32.const 2)))
  (func (export "run") (param $n i32) (result i64) (local $i i32) (local $sum i64) (local $v v128)
    (local.set $i (i32.const 0))
    (loop $again
      (local.set $sum (i64.add (i64.mul (local.get $sum) (i64.const 31)) (i64.extend_i32_u (local.get $i))))
      (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (i32.const 3) (i32.const 4)
    (block (param i32 i32) (result i32) (call_indirect $t (type $pair) (i32.const 1)))
    (loop (param i32) (result i32) (i32.const 70000) (i32.add))
    (if (param i32) (result i32) (i32.const 1) (then (i32.const -5) (i32.mul)) (else (drop) (i32.const 9)))
    (i64.extend_i32_s) (local.get $sum) (i64.add) (local.set $sum)
    (block $a (block $b (block $c (br_table $a $b $c (i32.and (local.get $n) (i32.const 3))))
      (local.set $sum (i64.add (local.get $sum) (i64.const 1000000007)))))
    (global.set $g (i64.xor (global.get $g) (local.get $sum)))
    (memory.init $text (i32.const 16) (i32.const 0) (i32.const 8))
    (data.drop $text)
    (memory.copy (i32.const 40) (i32.const 16) (i32.const 8))
    (memory.fill (i32.const 48) (i32.const 7) (i32.const 300))
    (table.init $t $some (i32.const 2) (i32.const 0) (i32.const 2))
    (elem.drop $some)
    (table.copy $t $t (i32.const 3) (i32.const 2) (i32.const 1))
    (table.fill $e (i32.const 0) (ref.null extern) (i32.const 2))
    (table.set $t (i32.const 0) (table.get $t (i32.const 1)))
    (drop (table.grow $t (ref.null func) (i32.const 1)))
    (drop (ref.is_null (ref.func $add)))
    (drop (select (result externref) (ref.null extern) (ref.null extern) (local.get $n)))
    (drop (memory.grow (i32.const 1)))
    (local.set $v (v128.load offset=3 align=1 (i32.const 40)))
    (local.set $v (i8x16.shuffle 0 17 2 19 4 21 6 23 8 25 10 27 12 29 14 31 (local.get $v) (v128.const i32x4 1 -2 3 -4)))
    (local.set $v (i16x8.replace_lane 3 (local.get $v) (i32.const 77)))
    (local.set $v (v128.load8_lane offset=5 2 (i32.const 40) (local.get $v)))
    (local.set $v (v128.load32_zero (i32.const 44)))
    (local.set $v (i32x4.add (local.get $v) (i32x4.splat (local.get $n))))
    (i64.store offset=1000 (i32.const 64) (i64.const 5))
    (i64.add (i64.add (i64.add (global.get $g) (i64x2.extract_lane 1 (local.get $v)))
      (i64.add (i64.load offset=1000 (i32.const 64)) (i64.load32_u (i32.const 40))))
      (i64.add (i64.extend_i32_u (i32.add (memory.size) (table.size $t)))
        (i64.add (i64.trunc_sat_f64_s (f64.const 12345.678)) (i64.trunc_f32_s (f32.const 9.5)))))))`

func TestAdd_ChangesNothing(t *testing.T) {
	t.Parallel()
	code := wat.Compile(t, everyImmediate)
	fueled, err := Add(code)
	require.NoError(t, err)
	require.NotEqual(t, code, fueled)
	ctx := t.Context()
	run := func(code []byte, n uint64) uint64 {
		r := wazero.NewRuntime(ctx)
		defer r.Close(ctx)
		_, err := r.NewHostModuleBuilder("from").NewFunctionBuilder().WithFunc(func(a, b uint32) uint32 { return a + b }).Export("add").Instantiate(ctx)
		require.NoError(t, err)
		m, err := r.Instantiate(ctx, code)
		require.NoError(t, err)
		got, err := m.ExportedFunction("run").Call(ctx, n)
		require.NoError(t, err)
		return got[0]
	}
	for _, n := range []uint64{1, 2, 3, 1000, 3*slice + 1} {
		require.Equal(t, run(code, n), run(fueled, n), n)
	}
}

func TestAdd_Refuses(t *testing.T) {
	t.Parallel()
	const around = `(module (memory (export "memory") 1) (global $own (mut i32) (i32.const 0)) (func (export "f") `
	for text, want := range map[string]string{
		"(global.set 1 (i32.const 0)) ": "function 0 of the module: it uses global 1, which does not exist",
		"(drop (global.get 2))":         "function 0 of the module: it uses global 2, which does not exist",
	} {
		_, err := Add(wat.Compile(t, around+text+`))`, "--no-check"))
		require.EqualError(t, err, want)
	}
	_, err := Add(wat.Compile(t, around+`(drop (i32.atomic.load (i32.const 0)))))`, "--enable-threads", "--no-check"))
	require.EqualError(t, err, "function 0 of the module: the instruction 0xfe is unknown")
	whole := wat.Compile(t, around+`))`)
	_, err = Add(whole[:len(whole)-3])
	require.EqualError(t, err, "the module is truncated")
}

// For any input, Add refuses it or returns a module that can be parsed. (Compiling
// the result would test more, but wazero allocates memory for as many functions as the
// module declares.)
func FuzzAdd(f *testing.F) {
	code := wat.Compile(f, everyImmediate)
	f.Add(code)
	f.Add(wat.Compile(f, `(module (memory 1) (func (export "f") (loop (br 0))))`))
	for _, n := range []int{9, 20, 60, 200, 400} {
		f.Add(code[:n])
	}
	f.Add(append([]byte(module.Magic), module.Code, 5, 0xff, 0xff, 0xff, 0xff, 0x0f))
	f.Fuzz(func(t *testing.T, code []byte) {
		fueled, err := Add(code)
		if err != nil {
			return
		}
		_, err = Add(fueled)
		require.NoError(t, err)
	})
}
