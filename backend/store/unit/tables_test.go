package unit

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/sqltest"
	"kith/core/referral"
	"kith/core/state"
)

// Each table of the state is known to the state and to the unit of work: what a call wants of it is
// loaded, and what a refused call has added to a list is dropped.
func TestUnit_KnowsEachTable(t *testing.T) {
	t.Parallel()
	tx := &store.Tx{Reads: store.NewReads(sqltest.File(t)), Embedded: true}
	tables := 0
	for field := range reflect.TypeFor[state.State]().Fields() {
		u := New(tx, "t", func(referral.Identity) string { return "hash" })
		table := reflect.ValueOf(u.State).Elem().FieldByIndex(field.Index)
		if !field.IsExported() || table.Kind() != reflect.Struct {
			continue
		}
		tables++
		if want := table.Addr().MethodByName("Want"); want.IsValid() {
			call(want)
			require.True(t, u.Incomplete(), field.Name)
			for range 2 { // a sequence needs its plans first
				require.NoError(t, u.Load(t.Context()), field.Name)
			}
			require.False(t, u.Incomplete(), field.Name)
			continue
		}
		table.Addr().MethodByName("Add").CallSlice([]reflect.Value{reflect.MakeSlice(table.Addr().MethodByName("Add").Type().In(0), 1, 1)})
		u.Drop()
		require.Zero(t, table.Addr().MethodByName("Len").Call(nil)[0].Int(), field.Name)
	}
	require.Greater(t, tables, 30)
}

// call calls a function with zero values.
func call(f reflect.Value) {
	in := make([]reflect.Value, f.Type().NumIn())
	for i := range in {
		in[i] = reflect.Zero(f.Type().In(i))
	}
	f.Call(in)
}
