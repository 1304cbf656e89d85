package core

import "strings"

// Invisible reports whether a character is white space, a control character or a mark that
// has no width, such as those that a chat adds to a copied text.
func Invisible(c rune) bool {
	return c <= ' ' || 0x7f <= c && c <= 0xa0 || 0x2000 <= c && c <= 0x200f || 0x2028 <= c && c <= 0x202f ||
		c == 0x2060 || c == 0x3000 || c == 0xfeff
}

// Trim returns a text that a person typed or pasted without the invisible characters around
// it.
func Trim(s string) string { return strings.TrimFunc(s, Invisible) }
