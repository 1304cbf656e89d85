package referral

import (
	"strings"
	"testing"

	"kith/core"
	"kith/core/link"
	"kith/core/reward"
)

func of[T any](v T) *T { return &v }

func TestParseStatus(t *testing.T) {
	for _, s := range []string{"PAID", "TRIAL", "FREE", "CANCELLED"} {
		if got, err := ParseStatus("subscription.status", s); err != nil || string(got) != s {
			t.Errorf("%s: %q, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "paid", "PAID ", "ACTIVE", "CANCELED"} {
		_, err := ParseStatus("subscription.status", s)
		if e, ok := err.(*core.Error); !ok || e.Code != core.CodeInvalid || e.RS != "RS022" || e.Field != "subscription.status" {
			t.Errorf("%q: %#v", s, err)
		}
	}
}

func TestParseInterval(t *testing.T) {
	for _, s := range []string{"DAY", "WEEK", "MONTH", "QUARTER", "SEMI_ANNUAL", "YEAR"} {
		if got, err := ParseInterval("i", s); err != nil || string(got) != s {
			t.Errorf("%s: %q, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "day", "HOUR", "SEMI-ANNUAL"} {
		if _, err := ParseInterval("i", s); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}

func TestAccountUpdate_Apply(t *testing.T) {
	stored := NewAccount("a", now)
	if want := (Account{ID: "a", Currency: "USD", Status: Trial, Created: now, Standing: Standing{Referral: None}}); stored != want {
		t.Errorf("a new account is %+v, want %+v", stored, want)
	}
	if got := (AccountUpdate{ID: "a"}).Apply(stored); got != stored {
		t.Errorf("an empty update gives %+v", got)
	}
	got := AccountUpdate{
		ID: "a", Currency: of("EUR"), Status: of(Paid), Interval: of(Interval("MONTH")), IntervalValue: of(int64(3)),
		Value: of("9.90"), Code: of(core.ReferralCode("ANN")),
	}.Apply(stored)
	want := stored
	want.Currency, want.Status, want.Interval, want.IntervalValue, want.Value = "EUR", Paid, "MONTH", 3, "9.90"
	if got != want {
		t.Errorf("%+v, want %+v: Apply must not set the code, which Decide does", got, want)
	}
	// Each field on its own.
	for i, u := range []AccountUpdate{
		{Currency: of("EUR")}, {Status: of(Paid)}, {Interval: of(Interval("MONTH"))}, {IntervalValue: of(int64(3))}, {Value: of("9.90")},
	} {
		if got := u.Apply(stored); got == stored || u.Apply(want) != want {
			t.Errorf("field %d: %+v", i, got)
		}
	}
}

func TestUserUpdate_Apply(t *testing.T) {
	stored := NewUser("a", "u", now)
	if !stored.Referable || stored.CustomFields != "{}" || stored.Created != now {
		t.Errorf("a new user is %+v", stored)
	}
	full := UserUpdate{
		FirstName: of("F"), LastName: of("L"), Email: of("e@x"), ImageURL: of("i"), Locale: of("en"), CountryCode: of("DE"),
		Referable: of(false), Segments: []string{"vip"}, Codes: []UserCode{{Program: "classic", Code: "BOB"}},
		CustomFields: []CustomField{{Name: "n", Value: "1"}},
	}
	got := full.Apply(stored)
	if got.FirstName != "F" || got.LastName != "L" || got.Email != "e@x" || got.ImageURL != "i" || got.Locale != "en" ||
		got.CountryCode != "DE" || got.Referable || strings.Join(got.Segments, ",") != "vip" {
		t.Errorf("%+v", got)
	}
	if got.CustomFields != "{}" || len(got.Codes) != 0 || got.Account != "a" || got.ID != "u" || got.Created != now {
		t.Errorf("Apply changed other fields: %+v", got)
	}
	after := UserUpdate{}.Apply(got)
	if after.FirstName != "F" || after.Referable || strings.Join(after.Segments, ",") != "vip" {
		t.Errorf("an empty update gives %+v", after)
	}
	if cleared := (UserUpdate{FirstName: of("")}).Apply(got); cleared.FirstName != "" || cleared.LastName != "L" {
		t.Errorf("an empty text gives %+v", cleared)
	}
}

func TestUserUpdate_Apply_Segments(t *testing.T) {
	for _, c := range []struct{ have, operations, want string }{
		{"", "", ""},
		{"a,b", "", "a,b"},
		{"a,b", "c", "a,b,c"},
		{"", "a,a", "a"},
		{"a,b,c", "a", "a,b,c"}, // in order of entry
		{"a,b,c", "~b", "a,c"},
		{"a,b,c", "~x", "a,b,c"},
		{"a,b,c", "~*", ""},
		{"a,b,c", "~*,d", "d"},
		{"a,b,c", "d,~*", ""},
		{"a", "~a,a", "a"},
		{"a", "b,~b", "a"},
		{"a,b", "~a,a", "b,a"},
	} {
		split := func(s string) []string {
			if s == "" {
				return nil
			}
			return strings.Split(s, ",")
		}
		have := split(c.have)
		got := UserUpdate{Segments: split(c.operations)}.Apply(User{Segments: have}).Segments
		if strings.Join(got, ",") != c.want {
			t.Errorf("%q with %q: %q, want %q", c.have, c.operations, strings.Join(got, ","), c.want)
		}
		if strings.Join(have, ",") != c.have {
			t.Errorf("%q with %q: the stored ones became %q", c.have, c.operations, have)
		}
	}
}

func TestProgram_Unlocks(t *testing.T) {
	p := Program{
		Program:  link.Program{Key: "classic"},
		Referrer: reward.Offer{Kind: reward.Credit, Amount: 500, Currency: "EUR"},
		Referred: reward.Offer{Kind: reward.PercentDiscount, Percent: 1000},
	}
	r := Referral{ID: "r", Referrer: Identity{Account: "ann-inc", User: "ann"}, Referred: Identity{Account: "bob-inc", User: "bob"}}

	got := p.Unlocks(r, Earned{}, 5)
	want := []reward.Grant{
		{Account: "ann-inc", User: "ann", Program: "classic", Referral: "r", Source: reward.FriendSignup, Offer: p.Referrer},
		{Account: "bob-inc", User: "bob", Program: "classic", Referral: "r", Source: reward.Referred, Offer: p.Referred},
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%+v, want %+v", got, want)
	}
	p.Referrer.GivenAfter, p.Referrer.ValidFor = 10, 100
	if got := p.Unlocks(r, Earned{}, 5); got[0].Scheduled != 15 || got[0].Expires != 115 {
		t.Errorf("later, with an expiry: %+v", got[0])
	}
	p.Referred = reward.Offer{}
	if got := p.Unlocks(r, Earned{}, 5); len(got) != 1 || got[0].Source != reward.FriendSignup {
		t.Errorf("a side without an offer: %+v", got)
	}
	p.Referrer = reward.Offer{}
	if got := p.Unlocks(r, Earned{}, 5); len(got) != 0 {
		t.Errorf("no offers: %+v", got)
	}
}

func TestUser_SeenAt(t *testing.T) {
	seen := func(ips ...string) User {
		var u User
		for _, ip := range ips {
			u = u.SeenAt(ip)
		}
		return u
	}
	for _, c := range []struct {
		ips         []string
		first, last string
	}{
		{nil, "", ""},
		{[]string{""}, "", ""},
		{[]string{"192.0.2.1"}, "192.0.2.1", "192.0.2.1"},
		{[]string{"192.0.2.1", "", "192.0.2.2"}, "192.0.2.1", "192.0.2.2"},
		{[]string{"192.0.2.1", "192.0.2.2", "192.0.2.1"}, "192.0.2.1", "192.0.2.1"},
		{[]string{"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255"}, "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255"},
		{[]string{"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.2555"}, "", ""},
	} {
		if got := seen(c.ips...); got.FirstSeenIP != c.first || got.LastSeenIP != c.last {
			t.Errorf("%q: %q, %q", c.ips, got.FirstSeenIP, got.LastSeenIP)
		}
	}
}
