package braintree_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/gateway/braintree"
)

func TestAmount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		minor    int64
		currency string
		text     braintree.Amount
	}{
		{4999, "USD", "49.99"}, {5, "USD", "0.05"}, {0, "USD", "0.00"}, {-310, "EUR", "-3.10"}, {-7, "EUR", "-0.07"}, {100, "", "1.00"},
		{500, "JPY", "500"}, {-1, "JPY", "-1"}, {1234, "KWD", "1.234"}, {9, "KWD", "0.009"}, {99999999999999, "USD", "999999999999.99"},
	} {
		require.Equal(t, c.text, braintree.NewAmount(c.minor, c.currency))
		minor, err := c.text.Minor(c.currency)
		require.NoError(t, err, c.text)
		require.Equal(t, c.minor, minor, c.text)
	}
	for text, want := range map[braintree.Amount]int64{"100": 10000, "250.0": 25000, "1.500": 150, "007.10": 710} {
		minor, err := text.Minor("USD")
		require.NoError(t, err, text)
		require.Equal(t, want, minor, text)
	}
}

func TestAmount_Refuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text     braintree.Amount
		currency string
	}{
		{"", "USD"}, {"-", "USD"}, {".50", "USD"}, {"1.", "USD"}, {"1,00", "USD"}, {"1.2.3", "USD"}, {"1e3", "USD"}, {"+1.00", "USD"}, {"--1", "USD"},
		{" 1.00", "USD"}, {"1.005", "USD"}, {"1.5", "JPY"}, {"1.0005", "KWD"}, {"1234567890123", "USD"}, {"0.0000000000000", "USD"}, {"１.00", "USD"},
	} {
		_, err := c.text.Minor(c.currency)
		require.Error(t, err, c.text)
	}
}

func FuzzAmount(f *testing.F) {
	f.Add("49.99", int64(math.MinInt64), "USD")
	f.Add("500", int64(500), "JPY")
	f.Fuzz(func(t *testing.T, text string, minor int64, currency string) {
		if m, err := braintree.Amount(text).Minor(currency); err == nil {
			again, err := braintree.NewAmount(m, currency).Minor(currency)
			require.NoError(t, err)
			require.Equal(t, m, again)
		}
		if m, err := braintree.NewAmount(minor, currency).Minor(currency); err == nil {
			require.Equal(t, minor, m)
		}
	})
}
