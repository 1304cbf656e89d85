package link

import (
	"strings"
	"testing"
)

func TestShare(t *testing.T) {
	s := Share{Origin: "https://go.example", Tenant: "acme"}
	for _, c := range []struct {
		e    Engagement
		m    ShareMedium
		want string
	}{
		{"", "", ""}, {Unknown, Unknown, ""}, {"", Unknown, ""},
		{"", "FACEBOOK", "?rsShareMedium=FACEBOOK"}, {Unknown, "DIRECT", "?rsShareMedium=DIRECT"},
		{"EMAIL", "", "?rsEngagementMedium=EMAIL"}, {"EMAIL", "SMS", "?rsShareMedium=SMS&rsEngagementMedium=EMAIL"},
	} {
		if got, want := s.URL("ANN")+Mediums(c.e, c.m), "https://go.example/s/acme/ANN"+c.want; got != want {
			t.Errorf("%s, %s: %s", c.e, c.m, got)
		}
	}
}

// The cookie of a followed link has the mediums with which the link was built,
// without those that are Unknown.
func TestShare_LinksAreFollowed(t *testing.T) {
	for _, e := range Engagements {
		for _, m := range ShareMediums {
			query := Mediums(e, m)
			if query != "" {
				query = query[1:]
			}
			if e == Unknown {
				e = ""
			}
			if m == Unknown {
				m = ""
			}
			if got := medium(value(query, ShareMediumParameter)); got != string(m) {
				t.Errorf("%s, %s: %q", e, m, got)
			}
			if got := medium(value(query, EngagementMediumParameter)); got != string(e) {
				t.Errorf("%s, %s: %q", e, m, got)
			}
		}
	}
}

func TestParseShareLink(t *testing.T) {
	for text, want := range map[string]string{
		"https://go.example/s/acme/Anna":                 "go.example Anna",
		"http://GO.example:8443/s/acme/anna-1_x?a=b&c#d": "go.example:8443 anna-1_x",
	} {
		host, name, ok := ParseShareLink("acme", text)
		if !ok || host+" "+string(name) != want {
			t.Errorf("%s is %q, %q, %v", text, host, name, ok)
		}
	}
	for _, text := range []string{
		"", "x", "not a url", "//go.example/s/acme/a", "ftp://go.example/s/acme/a", "https:///s/acme/a", "https://me@go.example/s/acme/a",
		"https://go.example/s/other/a", "https://go.example/s/acme/", "https://go.example/s/acme/a/b", "https://go.example/s/acme/a%2Fb", "https://go.example/a",
		"https://go.example/s/acme/" + strings.Repeat("a", 65), "javascript:alert(1)",
	} {
		if host, name, ok := ParseShareLink("acme", text); ok {
			t.Errorf("%s is %q, %q", text, host, name)
		}
	}
}
