package wire

import (
	"testing"

	"github.com/tidwall/gjson"
)

func TestWholeNumber(t *testing.T) {
	for text, want := range map[string]int64{
		"5": 5, "5.0": 5, "5.000": 5, "0.5e1": 5, "50e-1": 5, "500E-2": 5, "5e0": 5, "5e+00": 5, "-5.0": -5,
		"0": 0, "-0": 0, "0.0": 0, "0e99": 0, "-0.0E-5": 0,
		"1.6E12": 1_600_000_000_000, "1700000000000.0": 1_700_000_000_000, "1.700000000123E12": 1_700_000_000_123,
		"9223372036854775807": 1<<63 - 1, "9223372036854775807.0": 1<<63 - 1, "-9223372036854775808.0": -1 << 63, "9.223372036854775807e18": 1<<63 - 1,
	} {
		if got, ok := wholeNumber(text); got != want || !ok {
			t.Errorf("%s is read as %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{
		"4.5", "5e-1", "0.1", "1e-400", "9223372036854775808", "9223372036854775808.0", "1e19", "1e400", "-1e19",
		"1e99999999999999999999", "1e-99999999999999999999",
	} {
		if got, ok := wholeNumber(text); ok {
			t.Errorf("%s is read as %d", text, got)
		}
	}
}

func TestPlainDecimal(t *testing.T) {
	for text, want := range map[string]string{
		"5.0": "5.0", "1.6E1": "16", "1.25e1": "12.5", "125e-1": "12.5", "1e-3": "0.001", "0e5": "0", "-1e1": "-10", "1e3": "1000",
	} {
		if got, ok := plainDecimal(text, 32); got != want || !ok {
			t.Errorf("%s is %q, %v", text, got, ok)
		}
	}
	for _, text := range []string{"1e32", "1e-32", "1e999999999", "1e99999999999999999999", "123456789012345678901234567890123"} {
		if got, ok := plainDecimal(text, 32); ok {
			t.Errorf("%s is %q", text, got)
		}
	}
}

// Equality is symmetric.
func TestSameValue(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"5", "5.0", true},
		{"1.700000000123E12", "1700000000123", true},
		{"-0", "0.0", true},
		{"1e400", "10e399", true},
		{"1e400", "1e401", false},
		{"9007199254740993", "9007199254740992", false}, // the same float64
		{"0.1", "0.10000000000000000001", false},
		{"1e99999999999999999999", "1e99999999999999999999", true},
		{"1e99999999999999999999", "1e99999999999999999998", false},
		{"-1", "1", false},
		{`{"a":1,"b":2}`, `{"b":2.0,"a":1e0}`, true},
		{`{"a":"x","b":null}`, `{"a":"x"}`, true},
		{`{"a":null}`, `{}`, true},
		{`{"a":{"b":null}}`, `{"a":{}}`, true},
		{`{"a":{}}`, `{}`, false},
		{`{"a":null}`, `{"a":false}`, false},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`{"a":1,"a":1}`, `{"a":1,"a":1}`, false},
		{`{"a":1,"b":1}`, `{"a":1,"c":1}`, false},
		{`[1,2]`, `[1.0,2]`, true},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,2]`, false},
		{`[null]`, `[]`, false},
		{`[{"a":1,"b":null}]`, `[{"a":1}]`, true},
		{`"\u0041"`, `"A"`, true},
		{`"1"`, `1`, false},
		{`true`, `true`, true},
		{`true`, `false`, false},
		{`null`, `false`, false},
		{`{}`, `[]`, false},
	} {
		if sameValue(gjson.Parse(c.a), gjson.Parse(c.b)) != c.same || sameValue(gjson.Parse(c.b), gjson.Parse(c.a)) != c.same {
			t.Errorf("%s and %s: not %v", c.a, c.b, c.same)
		}
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`["a","b"]`, `["b","a"]`, true},
		{`["a","a"]`, `["a"]`, true},
		{`["a"]`, `["a","b"]`, false},
		{`[]`, `["a"]`, false},
		{`["a\",\"b"]`, `["a","b"]`, false},
		{`[1,"a"]`, `["a",1]`, false},
		{`[1]`, `[1.0]`, true},
		{`"a"`, `["a"]`, false},
	} {
		if sameSet(gjson.Parse(c.a), gjson.Parse(c.b)) != c.same || sameSet(gjson.Parse(c.b), gjson.Parse(c.a)) != c.same {
			t.Errorf("as sets, %s and %s: not %v", c.a, c.b, c.same)
		}
	}
}
