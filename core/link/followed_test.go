package link

import (
	"testing"

	"kith/core"
)

// A visit by a person counts for the code if the visitor permits the cookie, and for the
// program alone if not. Bots, prefetches and HEAD are counted apart, whatever they
// permit. An unknown code counts nothing.
func TestFollowShareLink_Followed(t *testing.T) {
	const mediums = "rsShareMedium=FACEBOOK&rsEngagementMedium=EMAIL"
	byCode := Followed{Tenant: "acme", Program: "classic", Code: "ANN", EngagementMedium: "EMAIL", ShareMedium: "FACEBOOK", By: Person}
	anonymous := Followed{Tenant: "acme", Program: "classic", By: Person}
	bot := byCode
	bot.By = Bot
	with := func(f Followed, e Engagement, m ShareMedium) Followed {
		f.EngagementMedium, f.ShareMedium = e, m
		return f
	}
	asks := func(c Consent) Policy { return Policy{Consent: c, ConsentCookie: "consent"} }
	for _, c := range []struct {
		name   string
		v      Visit
		policy Policy
		code   core.ReferralCode
		want   Followed
	}{
		{"a person", Visit{Query: mediums}, Policy{}, "ANN", byCode},
		{"without mediums", Visit{}, Policy{}, "ANN", with(byCode, "", "")},
		{"unknown mediums", Visit{Query: "rsShareMedium=pigeon&rsEngagementMedium=x1"}, Policy{}, "ANN", with(byCode, Unknown, Unknown)},
		{"mediums that are no words", Visit{Query: "rsShareMedium=a%20b&rsEngagementMedium=%0A"}, Policy{}, "ANN", with(byCode, "", "")},
		{"unknown code", Visit{Query: mediums}, Policy{}, "", Followed{}},
		{"GPC", Visit{Query: mediums, GPC: "1"}, Policy{}, "ANN", anonymous},
		{"DNT", Visit{Query: mediums, DNT: "1"}, Policy{}, "ANN", anonymous},
		{"opt-in, no answer", Visit{Query: mediums}, asks(ConsentOptIn), "ANN", anonymous},
		{"opt-in, agreed", Visit{Query: mediums, Cookie: "consent=yes"}, asks(ConsentOptIn), "ANN", byCode},
		{"opt-in, refused", Visit{Query: mediums, Cookie: "consent=no"}, asks(ConsentOptIn), "ANN", anonymous},
		{"opt-out, no answer", Visit{Query: mediums}, asks(ConsentOptOut), "ANN", byCode},
		{"opt-out, refused", Visit{Query: mediums, Cookie: "consent=no"}, asks(ConsentOptOut), "ANN", anonymous},
		{"agreed, GPC", Visit{Query: mediums, Cookie: "consent=yes", GPC: "1"}, asks(ConsentOptIn), "ANN", anonymous},
		{"bot", Visit{Query: mediums, UserAgent: "Googlebot/2.1"}, Policy{}, "ANN", bot},
		{"bot with GPC", Visit{Query: mediums, UserAgent: "Googlebot/2.1", GPC: "1"}, Policy{}, "ANN", bot},
		{"prefetch", Visit{Query: mediums, SecPurpose: "prefetch"}, Policy{}, "ANN", bot},
		{"HEAD", Visit{Query: mediums, Method: "HEAD"}, Policy{}, "ANN", bot},
	} {
		v := c.v
		if v.Method == "" {
			v.Method = "GET"
		}
		if v.UserAgent == "" {
			v.UserAgent = chrome
		}
		tenant := acme()
		tenant.Policy = c.policy
		got := FollowShareLink(v, tenant, classic(), c.code, now)
		if got.Followed != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got.Followed, c.want)
		}
		if remembered := outcome(got.SetCookie) == set; remembered != (got.Followed.Code != "" && got.Followed.By == Person) {
			t.Errorf("%s: cookie %q, counted for %q: a person is counted for a code that the cookie remembers, and for no other", c.name, got.SetCookie, got.Followed.Code)
		}
		if taken, _ := TakeCode(v, tenant, classic(), c.code, now); taken.Followed != (Followed{}) {
			t.Errorf("%s: the page after a share link counts as %+v", c.name, taken.Followed)
		}
	}
}

func TestParseFollowed(t *testing.T) {
	for _, f := range []Followed{
		{Tenant: "acme", Program: "classic", Code: "ANN", EngagementMedium: "EMAIL", ShareMedium: "FACEBOOK", By: Person},
		{Tenant: "test_acme", Program: "a-1", Code: "-", By: Bot},
		{Tenant: "acme", Program: "classic", By: Agent},
	} {
		if got, ok := ParseFollowed(f.Text()); !ok || got != f {
			t.Errorf("%q: %+v, %v", f.Text(), got, ok)
		}
	}
	for _, text := range []string{
		"", "visit", "visit acme classic ANN EMAIL", "visit acme classic ANN EMAIL FACEBOOK x", "look acme classic ANN EMAIL FACEBOOK",
		"visit . classic ANN EMAIL FACEBOOK", "visit acme . ANN EMAIL FACEBOOK", "visit  classic ANN EMAIL FACEBOOK", "visit acme classic ANN EMAIL ",
	} {
		if got, ok := ParseFollowed(text); ok {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}
