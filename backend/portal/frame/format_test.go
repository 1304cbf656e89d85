package frame

import (
	"html/template"
	"testing"

	"github.com/stretchr/testify/require"
)

// The element has the exact value for a script, and the text for a page without scripts.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for want, got := range map[template.HTML]template.HTML{
		`<data value="1234567">1,234,567</data>`:                     Number(1234567),
		`<data value="-5">-5</data>`:                                 Number(-5),
		`<data value="4">4</data>`:                                   Tenths(40),
		`<data value="1234.5">1234.5</data>`:                         Tenths(12345),
		`<data value="1234.50" data-currency="USD">$1,234.50</data>`: Amount(123450, "CENTS", "USD"),
		`<data value="1.500" data-currency="KWD">1.500 KWD</data>`:   Amount(1500, "CENTS", "KWD"),
		`<data value="12.00" data-currency="EUR">€12.00</data>`:      Amount(1200, "CASH/EUR", ""),
		`<span><data value="7.5">7.5</data>%</span>`:                 Amount(750, "%", ""),
		`<span><data value="1200">1,200</data> A&amp;B</span>`:       Amount(1200, "A&B", ""),
	} {
		require.Equal(t, want, got)
	}
}
