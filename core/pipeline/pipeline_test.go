package pipeline

import "testing"

func TestSigned(t *testing.T) {
	// The first is computed by openssl dgst -sha1 -hmac secret.
	const body, signature = `{"type":"track"}`, "2e88aac68ea7b39da724171f506ddb544ec37f6a"
	for _, c := range []struct {
		name, secret, header, body string
		want                       bool
	}{
		{"the signature", "secret", signature, body, true},
		{"in capitals, with blanks", "secret", " " + upper(signature) + " ", body, true},
		{"of another secret", "other", signature, body, false},
		{"of another body", "secret", signature, body + " ", false},
		{"cut", "secret", signature[:38], body, false},
		{"no digits", "secret", "xyz", body, false},
		{"empty", "secret", "", body, false},
		{"without a secret", "", "4b4f493acb45332879e4812a98473fc98209fee6", "", false},
	} {
		if got := Signed(c.secret, c.header, []byte(c.body)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func upper(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] = c - 32
		}
	}
	return string(b)
}

func TestSplitName(t *testing.T) {
	for _, c := range [][3]string{{"Ann", "Ann", ""}, {" Ann Mary  Lee ", "Ann", "Mary  Lee"}, {"", "", ""}} {
		if first, last := SplitName(c[0]); first != c[1] || last != c[2] {
			t.Errorf("%q: %q, %q", c[0], first, last)
		}
	}
}
