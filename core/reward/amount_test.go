package reward

import "testing"

func TestParseAmount(t *testing.T) {
	for _, c := range []struct {
		text, unit, currency string
		want                 int64
		err                  string
	}{
		{"12.50", UnitCents, "EUR", 1250, ""},
		{" 12.5 ", UnitCents, "EUR", 1250, ""},
		{"12", UnitCents, "EUR", 1200, ""},
		{"0.01", UnitCents, "EUR", 1, ""},
		{"1200", UnitCents, "JPY", 1200, ""},
		{"1.234", UnitCents, "KWD", 1234, ""},
		{"12.34", UnitPercent, "", 1234, ""},
		{"7", "POINTS", "", 7, ""},
		{"7", UnitCents, "", 7, ""},
		{"10000000000.00", UnitCents, "USD", MaxValue, ""},
		{"", UnitCents, "EUR", 0, "amount: is required; give it like 12.55"},
		{"", "POINTS", "", 0, "amount: is required; give it like 12"},
		{"1,5", UnitCents, "EUR", 0, "amount: is not a number; give it like 12.55"},
		{"-1", UnitCents, "EUR", 0, "amount: is not a number; give it like 12.55"},
		{"1.", UnitCents, "EUR", 0, "amount: is not a number; give it like 12.55"},
		{".5", UnitCents, "EUR", 0, "amount: is not a number; give it like 12.55"},
		{"1e3", UnitCents, "EUR", 0, "amount: is not a number; give it like 12.55"},
		{"111111111111111111111", UnitCents, "EUR", 0, "amount: is not a number; give it like 12.55"},
		{"0.00", UnitCents, "EUR", 0, "amount: must be more than 0"},
		{"1.005", UnitCents, "EUR", 0, "amount: has too many decimals; give it like 12.55"},
		{"1.5", UnitCents, "JPY", 0, "amount: has too many decimals; give it like 12"},
		{"12.345", UnitPercent, "", 0, "amount: has too many decimals; give it like 12.5"},
		{"10000000000.01", UnitCents, "USD", 0, "amount: is too large; give less"},
		{"99999999999999999999", UnitCents, "", 0, "amount: is too large; give less"},
	} {
		got, err := ParseAmount("amount", c.text, c.unit, c.currency)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != c.want || text != c.err {
			t.Errorf("%q %s %s: %d, %v", c.text, c.unit, c.currency, got, err)
		}
	}
}
