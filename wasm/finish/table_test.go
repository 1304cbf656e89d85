package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"

	"kith/wasm/module"
	"kith/wasm/wat"
)

// $sum and $product have the type of the first call, $half that of the second; place 4 is
// uncalled, and place 2 is empty.
const indirect = `(module
  (import "host" "zero" (func $zero (result i64)))
  (type $pair (func (param i32 i64) (result i64)))
  (type $one (func (param i64) (result i64)))
  (table 8 funcref)
  (elem (i32.const 1) $sum)
  (elem (i32.const 3) $product $uncalled $half)
  (func $sum (param i32 i64) (result i64) (i64.add (i64.extend_i32_u (local.get 0)) (local.get 1)))
  (func $product (param i32 i64) (result i64) (i64.mul (i64.extend_i32_u (local.get 0)) (local.get 1)))
  (func $uncalled (param i32 i64) (result i64) (call $zero))
  (func $half (param i64) (result i64) (i64.div_u (local.get 0) (i64.const 2)))
  (func (export "pair") (param i32) (result i64) (call_indirect (type $pair) (i32.const 6) (i64.const 7) (local.get 0)))
  (func (export "one") (param i32) (result i64) (call_indirect (type $one) (i64.const 10) (local.get 0)))
  (func (export "none") (param i32) (call_indirect (param f32) (f32.const 1) (local.get 0))))`

// Each place of the table is called by calls of its type and ends the instance otherwise, as
// before.
func TestWithoutTable(t *testing.T) {
	t.Parallel()
	all, err := module.Divide(wat.Compile(t, indirect))
	require.NoError(t, err)
	all, err = withoutTable(all, 1, map[uint32]bool{3: true})
	require.NoError(t, err)
	require.Nil(t, module.Find(all, module.Table))
	require.Nil(t, module.Find(all, module.Element))
	ctx := t.Context()
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)
	_, err = r.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(func() uint64 { return 0 }).Export("zero").Instantiate(ctx)
	require.NoError(t, err)
	m, err := r.Instantiate(ctx, module.Join(all))
	require.NoError(t, err)
	want := map[string]map[uint64]uint64{"pair": {1: 13, 3: 42}, "one": {5: 5}, "none": {}}
	for name, results := range want {
		for at := range uint64(9) {
			got, err := m.ExportedFunction(name).Call(ctx, at)
			if result, ok := results[at]; ok {
				require.NoError(t, err)
				require.Equal(t, []uint64{result}, got)
			} else {
				require.ErrorContains(t, err, "unreachable", "%s %d", name, at)
			}
		}
	}
}

func TestWithoutTable_RefusesImportedFunctions(t *testing.T) {
	t.Parallel()
	all, err := module.Divide(wat.Compile(t, `(module (import "host" "f" (func $f)) (table 1 funcref) (elem (i32.const 0) $f))`))
	require.NoError(t, err)
	_, err = withoutTable(all, 1, nil)
	require.EqualError(t, err, "the table has the imported function 0, of which no dispatcher knows the type")
}
