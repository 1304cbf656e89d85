//go:build !tinygo

package wire

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// Numbers are the same if and only if their values are, and whole if and only if an
// int64 has their value.
func FuzzSameNumber(f *testing.F) {
	for _, pair := range [][2]string{
		{"5", "5.0"}, {"-0", "0"}, {"1e400", "10e399"}, {"1.0", "1"}, {"9007199254740993", "9007199254740992"}, {"0.5E+1", "50e-1"}, {"1e-7", "0.0000001"},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, okX := rational(a)
		y, okY := rational(b)
		if !okX || !okY {
			return
		}
		if got := sameNumber(a, b); got != (x.Cmp(y) == 0) {
			t.Errorf("%s and %s are the same: %v", a, b, got)
		}
		n, whole := wholeNumber(a)
		if want := x.IsInt() && x.Num().IsInt64(); whole != want || whole && n != x.Num().Int64() {
			t.Errorf("%s is read as %d, %v", a, n, whole)
		}
		if plain, ok := plainDecimal(a, 64); ok {
			if value, valid := rational(plain); !valid || value.Cmp(x) != 0 {
				t.Errorf("%s is written as %s", a, plain)
			}
		}
	})
}

// rational returns the value of a JSON number with a small exponent.
func rational(text string) (*big.Rat, bool) {
	if !json.Valid([]byte(text)) || strings.Trim(text, "+-.eE0123456789") != "" || len(text) > 100 {
		return nil, false
	}
	if at := strings.IndexAny(text, "eE"); at >= 0 && len(strings.TrimLeft(text[at+1:], "+-0")) > 3 {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// Values are the same if and only if their decoded forms are.
func FuzzSameValue(f *testing.F) {
	for _, pair := range [][2]string{
		{`{"a":1,"b":[null,{"c":2.0}]}`, `{"b":[null,{"c":2,"d":null}],"a":1e0}`}, {`{"a":null}`, `{}`}, {`[1,"x",true]`, `[1.0,"\u0078",true]`}, {`{"":""}`, `{}`},
	} {
		f.Add([]byte(pair[0]), []byte(pair[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if checkObject(wrapped(a), 4096) != nil || checkObject(wrapped(b), 4096) != nil {
			return
		}
		x, okX := decoded(gjson.ParseBytes(a))
		y, okY := decoded(gjson.ParseBytes(b))
		if !okX || !okY {
			return
		}
		if got := sameValue(gjson.ParseBytes(a), gjson.ParseBytes(b)); got != equal(x, y) {
			t.Errorf("%s and %s are the same: %v", a, b, got)
		}
	})
}

func wrapped(value []byte) []byte { return append(append([]byte(`{"x":`), value...), '}') }

// decoded returns a decoded value, with *big.Rat for numbers and without null
// members.
func decoded(v gjson.Result) (value any, ok bool) {
	ok = true
	switch {
	case v.IsObject():
		object := map[string]any{}
		v.ForEach(func(key, member gjson.Result) bool {
			one, fine := decoded(member)
			_, twice := object[key.String()]
			ok = ok && fine && !twice
			if member.Type != gjson.Null {
				object[key.String()] = one
			}
			return true
		})
		return object, ok
	case v.IsArray():
		list := []any{}
		v.ForEach(func(_, element gjson.Result) bool {
			one, fine := decoded(element)
			ok = ok && fine
			list = append(list, one)
			return true
		})
		return list, ok
	case v.Type == gjson.Number:
		return rational(v.Raw)
	}
	return v.Value(), true
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		ok = ok && len(a) == len(b)
		for key, value := range a {
			other, there := b[key]
			ok = ok && there && equal(value, other)
		}
		return ok
	case []any:
		b, ok := b.([]any)
		ok = ok && len(a) == len(b)
		for i := 0; ok && i < len(a); i++ {
			ok = equal(a[i], b[i])
		}
		return ok
	case *big.Rat:
		b, ok := b.(*big.Rat)
		return ok && a.Cmp(b) == 0
	}
	return a == b
}
