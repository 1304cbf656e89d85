package link

import (
	"net/url"
	"strings"
	"testing"
)

// The URL of every medium contains the whole link, and the link and the text are
// escaped.
func TestMessage(t *testing.T) {
	const subject, words, shared = "Ü & 10 %", "10 % off & more #1", "https://go.example/s/acme/ANN?rsShareMedium=SMS&x=ü"
	for _, m := range ShareMediums {
		to, ok := Message(m, subject, words, shared)
		if !ok {
			t.Errorf("%s has no URL", m)
			continue
		}
		if m == "DIRECT" || m == Unknown {
			if to != shared {
				t.Errorf("%s: %s", m, to)
			}
			continue
		}
		decoded, err := url.QueryUnescape(to)
		if err != nil || !strings.Contains(decoded, shared) || strings.Contains(to, "#") || strings.Contains(to, " ") {
			t.Errorf("%s: %s, %v", m, to, err)
		}
		if parsed, err := url.Parse(to); err != nil || parsed.Scheme == "http" {
			t.Errorf("%s: %s, %v", m, to, err)
		}
	}
	for _, m := range []ShareMedium{"EMAIL", "SMS"} {
		to, _ := Message(m, subject, words, shared)
		_, query, _ := strings.Cut(to, "?")
		if !strings.HasSuffix(value(query, "body"), shared) || !strings.HasPrefix(value(query, "body"), words) || m == "EMAIL" && value(query, "subject") != subject {
			t.Errorf("%s: %s", m, to)
		}
	}
	for _, m := range []ShareMedium{"", "facebook", "REMINDER", "javascript:"} {
		if to, ok := Message(m, subject, words, shared); ok {
			t.Errorf("%q gives %s", m, to)
		}
	}
}
