package reward

import "testing"

func TestParseAmount(t *testing.T) {
	for _, c := range []struct {
		text, currency string
		want           int64
		ok             bool
	}{
		{"10", "USD", 1000, true}, {"10.5", "USD", 1050, true}, {"10.50", "USD", 1050, true}, {"0.05", "EUR", 5, true}, {"007", "USD", 700, true},
		{"1500", "JPY", 1500, true}, {"1.234", "KWD", 1234, true}, {"1.2", "KWD", 1200, true}, {"5", "", 5, true}, {"0", "USD", 0, true},
		{"10000000000.00", "USD", MaxValue, true}, {"10000000000.01", "USD", 0, false}, {"1000000000001", "", 0, false},
		{"999999999999999", "KWD", 0, false}, {"1000000000000000", "USD", 0, false},
		{"", "USD", 0, false}, {".", "USD", 0, false}, {".5", "USD", 0, false}, {"5.", "USD", 0, false}, {"10.505", "USD", 0, false}, {"1.5", "JPY", 0, false},
		{"1.5", "", 0, false}, {"12,50", "USD", 1250, true}, {"12,5", "EUR", 1250, true}, {"1,5", "JPY", 0, false}, {"1,234", "KWD", 0, false}, {"12,", "USD", 0, false}, {"1,2,3", "USD", 0, false}, {"1.5,5", "USD", 0, false}, {"1,000.00", "USD", 0, false}, {"-5", "USD", 0, false}, {"+5", "USD", 0, false}, {"1e3", "USD", 0, false},
		{"$5", "USD", 0, false}, {"5 ", "USD", 0, false}, {"1.2.3", "USD", 0, false}, {"٣", "USD", 0, false},
	} {
		got, err := ParseAmount("credit", c.text, c.currency)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("%q in %q is %d, %v; want %d, %v", c.text, c.currency, got, err, c.want, c.ok)
		}
		if err != nil {
			continue
		}
		unit := UnitCents
		if c.currency == "" {
			unit = "POINT"
		}
		if back, err := ParseAmount("", Pretty(got, unit, c.currency, NumberUnformatted), c.currency); err != nil || back != got {
			t.Errorf("%q is written and read as %d, %v", c.text, back, err)
		}
	}
	const form = "credit: must be an amount such as 10.00, without a currency or separators of thousands"
	for text, want := range map[string]string{
		"10.505": "credit: must be an amount such as 10.00: amounts in USD have 2 decimals", "-5": "credit: must not be negative; give an amount such as 10.00",
		"1000000000000000": "credit: must be at most 10000000000.00", "99999999999999999999": "credit: must be at most 10000000000.00", "5 USD": form, "1,000": form, "-": form,
	} {
		if _, err := ParseAmount("credit", text, "USD"); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestMoneyIn(t *testing.T) {
	for _, c := range [][3]string{{"CENTS", "EUR", "EUR"}, {"CENTS", "", ""}, {"CASH/USD", "", "USD"}, {"POINT", "USD", ""}, {"%", "USD", ""}} {
		if got := MoneyIn(c[0], c[1]); got != c[2] {
			t.Errorf("%s %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestParseValue(t *testing.T) {
	for _, c := range []struct {
		text, unit, currency string
		want                 int64
		err                  string
	}{
		{" 12.5 ", UnitCents, "EUR", 1250, ""}, {"1200", UnitCents, "JPY", 1200, ""}, {"12.34", UnitPercent, "", 1234, ""}, {"7", "POINTS", "", 7, ""}, {"12,5 %", UnitPercent, "", 1250, ""},
		{"", UnitCents, "EUR", 0, "amount: must be an amount such as 10.00, without a currency or separators of thousands"},
		{"0.00", UnitCents, "EUR", 0, "amount: must be more than 0"},
		{"12.345", UnitPercent, "", 0, "amount: must be an amount such as 10.00: a percentage has 2 decimals"},
	} {
		got, err := ParseValue("amount", c.text, c.unit, c.currency)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != c.want || text != c.err {
			t.Errorf("%q %s %s: %d, %v", c.text, c.unit, c.currency, got, err)
		}
	}
}
