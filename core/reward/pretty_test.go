package reward

import "testing"

func TestPretty(t *testing.T) {
	formats := []Format{UnitFormatted, NumberFormatted, IntegerFormatted, NumberUnformatted, IntegerUnformatted}
	for _, c := range []struct {
		value          int64
		unit, currency string
		want           [5]string
	}{
		{123450, UnitCents, "USD", [5]string{"$1,234.50", "1,234.50", "1,235", "1234.50", "1235"}},
		{-5, UnitCents, "EUR", [5]string{"-€0.05", "-0.05", "0", "-0.05", "0"}},
		{100, UnitCents, "CHF", [5]string{"1.00 CHF", "1.00", "1", "1.00", "1"}},
		{1234, UnitCents, "JPY", [5]string{"¥1,234", "1,234", "1,234", "1234", "1234"}},
		{1234, UnitCents, "KRW", [5]string{"1,234 KRW", "1,234", "1,234", "1234", "1234"}},
		{1234500, UnitCents, "KWD", [5]string{"1,234.500 KWD", "1,234.500", "1,235", "1234.500", "1235"}},
		{-1499, "CASH/BHD", "", [5]string{"-1.499 BHD", "-1.499", "-1", "-1.499", "-1"}},
		{5, UnitCents, "KWD", [5]string{"0.005 KWD", "0.005", "0", "0.005", "0"}},
		{12345, UnitCents, "CLF", [5]string{"1.2345 CLF", "1.2345", "1", "1.2345", "1"}},
		{149, UnitCents, "", [5]string{"149 CENTS", "149", "149", "149", "149"}},
		{1050, "CASH/CAD", "", [5]string{"CA$10.50", "10.50", "11", "10.50", "11"}},
		{1000, UnitPercent, "", [5]string{"10%", "10", "10", "10", "10"}},
		{1250, UnitPercent, "", [5]string{"12.5%", "12.5", "13", "12.5", "13"}},
		{1225, UnitPercent, "USD", [5]string{"12.25%", "12.25", "12", "12.25", "12"}},
		{0, UnitCents, "USD", [5]string{"$0.00", "0.00", "0", "0.00", "0"}},
		{-1 << 63, "CASH/USD", "", [5]string{"-$92,233,720,368,547,758.08", "-92,233,720,368,547,758.08", "-92,233,720,368,547,758", "-92233720368547758.08", "-92233720368547758"}},
		{1234567, "POINT", "", [5]string{"1,234,567 POINT", "1,234,567", "1,234,567", "1234567", "1234567"}},
	} {
		for i, f := range formats {
			if got := Pretty(c.value, c.unit, c.currency, f); got != c.want[i] {
				t.Errorf("%d %s %s as %s: %q, want %q", c.value, c.unit, c.currency, f, got, c.want[i])
			}
		}
	}
}
