package referral

import (
	"strconv"
	"strings"
	"testing"
)

// ann is the referrer, bob is referred. They have nothing in common.
func ann() User {
	u := NewUser("ann-inc", "ann", now)
	u.FirstName, u.LastName, u.Email, u.FirstSeenIP, u.LastSeenIP = "Ann", "Arbor", "ann@example.com", "192.0.2.1", "192.0.2.2"
	return u
}

func bob() User {
	u := NewUser("bob-inc", "bob", now)
	u.FirstName, u.LastName, u.Email, u.FirstSeenIP, u.LastSeenIP = "Bob", "Builder", "bob@example.org", "192.0.2.3", "192.0.2.4"
	return u
}

// Data that gives each signal, and data that does not.
func TestEvidence_Findings(t *testing.T) {
	names := func(a, b string) Evidence {
		e := Evidence{Referrer: ann(), Referred: bob()}
		e.Referrer.FirstName, e.Referrer.LastName, _ = strings.Cut(a, "|")
		e.Referred.FirstName, e.Referred.LastName, _ = strings.Cut(b, "|")
		return e
	}
	emails := func(a, b string) Evidence {
		e := Evidence{Referrer: ann(), Referred: bob()}
		e.Referrer.Email, e.Referred.Email = a, b
		return e
	}
	ips := func(first, last string) Evidence {
		e := Evidence{Referrer: ann(), Referred: bob()}
		e.Referred.FirstSeenIP, e.Referred.LastSeenIP = first, last
		return e
	}
	with := func(change func(*Evidence)) Evidence {
		e := Evidence{Referrer: ann(), Referred: bob()}
		change(&e)
		return e
	}
	for name, c := range map[string]struct {
		evidence Evidence
		want     string // signals with their scores
	}{
		"nothing in common":      {with(func(*Evidence) {}), ""},
		"nothing known":          {Evidence{}, ""},
		"two users without data": {Evidence{Referrer: NewUser("a", "a", 1), Referred: NewUser("b", "b", 1)}, ""},

		"name: the same":                   {names("Bob|Builder", "Bob|Builder"), "name 50"},
		"name: in another case":            {names("BOB|builder", "bob|Builder"), "name 50"},
		"name: with surrounding blanks":    {names(" Bob |Builder", "Bob| Builder "), "name 50"},
		"name: reversed":                   {names("Builder|Bob", "Bob|Builder"), "name 50"},
		"name: all in one field":           {names("Bob Builder|", "Bob|Builder"), "name 50"},
		"name: reversed in one field":      {names("|Builder Bob", "Bob|Builder"), "name 50"},
		"name: of three parts":             {names("Bob B.|Builder", "Builder|Bob B."), "name 50"},
		"name: not ASCII":                  {names("ÉMILE|Zola", "zola|émile"), "name 50"},
		"name: only the first":             {names("Bob|", "Bob|"), ""},
		"name: only the last":              {names("|Builder", "|Builder"), ""},
		"name: only the same first name":   {names("Bob|Builder", "Bob|Brown"), ""},
		"name: with a middle one":          {names("Bob B.|Builder", "Bob|Builder"), ""},
		"name: one known":                  {names("Bob|Builder", "|"), ""},
		"email: same mailbox":              {emails("bob@example.com", "Bob+shop@EXAMPLE.com"), "email 100"},
		"email: same name, another domain": {emails("bob.b@example.com", "bob.b@example.org"), "email 60"},
		"email: with a tag":                {emails("bob.b+x@example.com", "bob.b+y@example.org"), "email 60"},
		"email: with other dots":           {emails("b.o.b@example.com", "bob@example.com"), "email 60"},
		"email: dots and case and domain":  {emails("B.ob@example.com", "bO.b@example.org"), "email 60"},
		"email: a role address":            {emails("info@example.com", "info@example.org"), ""},
		"email: a role address with a tag": {emails("sales+a@example.com", "s.ales@example.org"), ""},
		"email: the same role address":     {emails("info@example.com", "info@example.com"), "email 100"},
		"email: another":                   {emails("bob@example.com", "rob@example.com"), ""},
		"email: none":                      {emails("", ""), ""},
		"email: no addresses":              {emails("bob", "bob"), ""},
		"email: all dots":                  {emails("..@example.com", ".@example.org"), ""},
		"email: all tag":                   {emails("+a@example.com", "+b@example.org"), ""},

		"tempEmail: a disposable one":   {emails("ann@example.com", "bob@mailinator.com"), "tempEmail 50"},
		"tempEmail: in another case":    {emails("ann@example.com", "bob@Mailinator.COM"), "tempEmail 50"},
		"tempEmail: a subdomain":        {emails("ann@example.com", "bob@any.mailinator.com"), "tempEmail 50"},
		"tempEmail: the same suffix":    {emails("ann@example.com", "bob@notmailinator.com"), ""},
		"tempEmail: a top-level domain": {emails("ann@example.com", "bob@com"), ""},
		"tempEmail: of the referrer":    {emails("ann@mailinator.com", "bob@example.com"), ""},
		"tempEmail: on another list":    {with(func(e *Evidence) { e.TempEmail = true }), "tempEmail 50"},
		"ip: first at the other's last": {ips("192.0.2.2", "192.0.2.9"), "ip 50"},
		"ip: first at first":            {ips("192.0.2.1", "192.0.2.9"), "ip 50"},
		"ip: last at last":              {ips("192.0.2.9", "192.0.2.2"), "ip 50"},
		"ip: last at first":             {ips("192.0.2.9", "192.0.2.1"), "ip 50"},
		"ip: different":                 {ips("192.0.2.9", "192.0.2.9"), ""},
		"ip: never seen":                {ips("", ""), ""},
		"ip: both never seen": {with(func(e *Evidence) {
			e.Referrer.FirstSeenIP, e.Referrer.LastSeenIP, e.Referred.FirstSeenIP, e.Referred.LastSeenIP = "", "", "", ""
		}), ""},

		"rate: three":           {with(func(e *Evidence) { e.Recent = 3 }), ""},
		"rate: four":            {with(func(e *Evidence) { e.Recent = 4 }), "rate 70"},
		"daily: at the limit":   {with(func(e *Evidence) { e.RewardsToday, e.DailyRewards = 5, 5 }), ""},
		"daily: above it":       {with(func(e *Evidence) { e.RewardsToday, e.DailyRewards = 6, 5 }), "dailyReferralRewardLimit 70"},
		"daily: without one":    {with(func(e *Evidence) { e.RewardsToday = 1 << 40 }), ""},
		"blocked: the referrer": {with(func(e *Evidence) { e.Referrer.Blocked = 1 }), "blockedUser 90"},
		"blocked: the referred": {with(func(e *Evidence) { e.Referred.Blocked = 1 }), "blockedUser 100"},
		"blocked: both":         {with(func(e *Evidence) { e.Referrer.Blocked, e.Referred.Blocked = 1, 1 }), "blockedUser 100"},

		"all together": {with(func(e *Evidence) {
			e.Referrer, e.Referred = bob(), bob()
			e.TempEmail, e.Recent, e.RewardsToday, e.DailyRewards, e.Referrer.Blocked = true, 9, 9, 1, 1
		}), "name 50, email 100, tempEmail 50, ip 50, rate 70, dailyReferralRewardLimit 70, blockedUser 90"},
	} {
		var got []string
		for _, f := range c.evidence.Findings() {
			if f.Message == "" {
				t.Errorf("%s: %s has no message", name, f.Signal)
			}
			got = append(got, string(f.Signal)+" "+strconv.FormatInt(f.Score, 10))
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}

// Fraud signals, except for the mail domain and the rate, do not depend on which of
// the two is the referrer.
func TestEvidence_IsSymmetric(t *testing.T) {
	for _, pair := range [][2]User{{ann(), bob()}, {bob(), bob()}} {
		there := Evidence{Referrer: pair[0], Referred: pair[1]}.Findings()
		back := Evidence{Referrer: pair[1], Referred: pair[0]}.Findings()
		if len(there) != len(back) {
			t.Errorf("%+v and %+v", there, back)
		}
	}
}

func TestDisposable_ListIsWellFormed(t *testing.T) {
	domains := strings.Fields(disposable)
	seen := map[string]bool{}
	for i, d := range domains {
		switch {
		case d != strings.ToLower(d) || !strings.Contains(d, ".") || strings.ContainsAny(d, "@/"):
			t.Errorf("%q is not a domain", d)
		case seen[d]:
			t.Errorf("%s is listed twice", d)
		case i > 0 && d < domains[i-1]:
			t.Errorf("%s is out of order", d)
		}
		seen[d] = true
		if !Disposable("x@" + d) {
			t.Errorf("%s is not found", d)
		}
	}
	if len(domains) < 300 || strings.Trim(disposable, " ") == disposable {
		t.Errorf("%d domains, or no blank before the first and after the last", len(domains))
	}
	for _, d := range []string{"gmail.com", "googlemail.com", "outlook.com", "yahoo.com", "icloud.com", "gmx.de", "web.de", "proton.me", "mail.ru", "example.com", ""} {
		if Disposable("x@" + d) {
			t.Errorf("%s is taken as disposable", d)
		}
	}
}
