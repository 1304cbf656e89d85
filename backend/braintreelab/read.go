package braintreelab

import (
	"strconv"
	"strings"

	"kith/backend/gateway/braintree"
	"kith/backend/gateway/xmltree"
)

// number parses a whole number; it returns -1, which no rule accepts, for another text.
func number(n *xmltree.Node, name string) int {
	text := n.Value(name)
	if text == "" {
		return 0
	}
	i, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return i
}

// money parses an amount as minor units. One client writes 50 cents as ".50".
func money(text, currency string) (int64, error) {
	if strings.HasPrefix(text, ".") {
		text = "0" + text
	}
	return braintree.Amount(text).Minor(currency)
}

// validID reports whether s may be an id of a record.
func validID(s string) bool {
	return s != "" && len(s) <= 36 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}
