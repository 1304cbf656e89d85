package core

import (
	"strconv"
	"strings"
)

// Digits reports whether a text is one or more of the digits 0 to 9.
func Digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// Thousand reports whether a number may be one of thousands with a separator, such as 1.234.
func Thousand(number, separator string) bool {
	whole, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(number), "-"), separator)
	return ok && len(rest) == 3 && Digits(rest) && len(whole) <= 3 && Digits(whole) && whole[0] != '0'
}

// ValidPort reports whether s may be the port of a URL: a number of at most 65535, or empty.
func ValidPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return s == "" || err == nil
}
