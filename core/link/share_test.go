package link

import "testing"

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

// A link that is made is one that is understood: the cookie remembers its
// mediums, but for those that tell nothing.
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
