package reward

import "kith/core"

// ParseCurrency returns s as a currency code or an error about field.
func ParseCurrency(field, s string) (string, error) {
	if len(s) != 3 || s[0] < 'A' || s[0] > 'Z' || s[1] < 'A' || s[1] > 'Z' || s[2] < 'A' || s[2] > 'Z' {
		return "", core.Invalid(field, "must be a currency code of three capital letters, such as USD")
	}
	return s, nil
}

// MinorDigits returns the number of decimals of a currency (ISO 4217): 2 for USD, 0 for
// JPY, 3 for KWD. A currency that is not listed has 2.
func MinorDigits(currency string) int {
	switch currency {
	case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF":
		return 0
	case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND":
		return 3
	case "CLF", "UYW":
		return 4
	}
	return 2
}
