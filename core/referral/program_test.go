package referral

import (
	"errors"
	"strings"
	"testing"

	"kith/core"
	"kith/core/reward"
	"kith/core/text"
)

func soundProgram() Program { return DefaultProgram("https://shop.example/") }

// Each row has one invalid setting; the error has its name in the API.
func TestProgram_Check(t *testing.T) {
	if err := soundProgram().Check(); err != nil {
		t.Fatal(err)
	}
	for field, broken := range map[string][]func(*Program){
		"id": {func(p *Program) { p.Key = "" }, func(p *Program) { p.Key = "a_b" }},
		"name": {
			func(p *Program) { p.Name = "" }, func(p *Program) { p.Name = strings.Repeat("n", 201) },
			func(p *Program) { p.Name = "\xff" },
		},
		"sharing.url":          {func(p *Program) { p.LandingURL = "" }, func(p *Program) { p.LandingURL = "ftp://x.example" }},
		"sharing.allowedHosts": {func(p *Program) { p.AllowedHosts = make([]string, 51) }},
		"sharing.allowedHosts[1]": {
			func(p *Program) { p.AllowedHosts = []string{"a.example", ""} },
			func(p *Program) { p.AllowedHosts = []string{"a.example:8443", "https://b.example"} },
			func(p *Program) { p.AllowedHosts = []string{"[::1]:80", "b.example/path"} },
			func(p *Program) { p.AllowedHosts = []string{"a.example", "user@b.example"} },
			func(p *Program) { p.AllowedHosts = []string{"a.example", "*.example"} },
			func(p *Program) { p.AllowedHosts = []string{"a.example", ":80"} },
		},
		"sharing.cookieExpiryDuration": {
			func(p *Program) { p.CookieLife = 0 }, func(p *Program) { p.CookieLife = core.Second - 1 },
			func(p *Program) { p.CookieLife = MaxCookieLife + 1 },
		},
		"rewards.referrer.credit": {func(p *Program) { p.Referrer = reward.Offer{Kind: reward.Credit} }},
		"rewards.referred.discountPercent": {
			func(p *Program) { p.Referred = reward.Offer{Kind: reward.PercentDiscount} },
			func(p *Program) { p.Referred = reward.Offer{Kind: reward.PercentDiscount, Percent: 10001} },
		},
		"limits.rewards":         {func(p *Program) { p.Limits.Total = -1 }, func(p *Program) { p.Limits.Total = 1_000_001 }},
		"limits.rewardsInPeriod": {func(p *Program) { p.Limits.InPeriod = -1 }},
		"limits.period": {
			func(p *Program) { p.Limits.InPeriod = 1 }, func(p *Program) { p.Limits.Period = core.Day },
			func(p *Program) { p.Limits.InPeriod, p.Limits.Period = 1, 3651*core.Day },
		},
		"limits.discountPercent": {func(p *Program) { p.Limits.Discount = -1 }, func(p *Program) { p.Limits.Discount = 10001 }},
		"fraud.handling":         {func(p *Program) { p.Fraud.Handling = "none" }},
		"fraud.signals.ip":       {func(p *Program) { p.Fraud.BySignal = map[Signal]Handling{SignalIP: ""} }},
		"invitations": {func(p *Program) {
			p.Invitations = map[text.Tag]text.Invitation{}
			for i := range text.MaxInvitations + 1 {
				p.Invitations[text.Tag("a"+string(rune('a'+i%26))+string(rune('a'+i/26)))] = text.Invitation{Subject: "s", Message: "m"}
			}
		}},
		"invitations.german": {func(p *Program) { p.Invitations = map[text.Tag]text.Invitation{"german": {Subject: "s", Message: "m"}} }},
		"invitations.pt_BR":  {func(p *Program) { p.Invitations = map[text.Tag]text.Invitation{"pt_BR": {Subject: "s", Message: "m"}} }},
		"invitations.de.subject": {func(p *Program) {
			p.Invitations = map[text.Tag]text.Invitation{"de": {Message: "m"}, "fr": {}}
		}},
		"invitations.fr.message": {func(p *Program) {
			p.Invitations = map[text.Tag]text.Invitation{"de": {Subject: "s", Message: "m"}, "fr": {Subject: "s", Message: "{name}"}}
		}},
		"fraud.dailyRewardLimit": {func(p *Program) { p.Fraud.DailyRewards = -1 }},
	} {
		for i, change := range broken {
			p := soundProgram()
			change(&p)
			var e *core.Error
			if err := p.Check(); !errors.As(err, &e) || e.Code != core.CodeInvalid || e.Field != field {
				t.Errorf("%s, row %d: %v", field, i, err)
			}
		}
	}
}

func TestProgram_CheckAcceptsTheLargest(t *testing.T) {
	p := soundProgram()
	p.Name, p.CookieLife = strings.Repeat("n", 200), MaxCookieLife
	p.Referred.Percent = 10000
	p.Limits = Limits{Total: 1_000_000, InPeriod: 1_000_000, Period: 3650 * core.Day, Discount: 10000}
	for range MaxAllowedHosts {
		p.AllowedHosts = append(p.AllowedHosts, "a.example")
	}
	if err := p.Check(); err != nil {
		t.Error(err)
	}
}

func TestLimits_Reached(t *testing.T) {
	for _, c := range []struct {
		limits Limits
		earned Earned
		want   bool
	}{
		{Limits{}, Earned{Total: 1 << 40, InPeriod: 1 << 40}, false},
		{Limits{Total: 2}, Earned{Total: 1, InPeriod: 1}, false},
		{Limits{Total: 2}, Earned{Total: 2}, true},
		{Limits{Total: 2}, Earned{Total: 3}, true},
		{Limits{InPeriod: 2, Period: 1}, Earned{Total: 9, InPeriod: 1}, false},
		{Limits{InPeriod: 2, Period: 1}, Earned{Total: 9, InPeriod: 2}, true},
		{Limits{Total: 5, InPeriod: 2, Period: 1}, Earned{Total: 5, InPeriod: 0}, true},
	} {
		if got := c.limits.Reached(c.earned); got != c.want {
			t.Errorf("%+v with %+v: %v", c.limits, c.earned, got)
		}
	}
}

// A referrer beyond the limits gets no reward; the referred user does.
func TestProgram_UnlocksWithinItsLimits(t *testing.T) {
	p := soundProgram()
	p.Limits.Total = 1
	r := Referral{Referrer: Identity{Account: "a", User: "a"}, Referred: Identity{Account: "b", User: "b"}}
	if got := p.Unlocks(r, Earned{}, 5); len(got) != 2 {
		t.Errorf("within: %+v", got)
	}
	if got := p.Unlocks(r, Earned{Total: 1}, 5); len(got) != 1 || got[0].Source != reward.Referred {
		t.Errorf("beyond: %+v", got)
	}
}

func TestFraudPolicy_For(t *testing.T) {
	ip, name := Finding{Signal: SignalIP, Score: 50}, Finding{Signal: SignalName, Score: 50}
	for _, c := range []struct {
		policy  FraudPolicy
		finding Finding
		want    Handling
	}{
		{FraudPolicy{}, ip, HandleNone},
		{FraudPolicy{Handling: HandlePending}, ip, HandlePending},
		{FraudPolicy{Handling: HandlePending, BySignal: map[Signal]Handling{SignalIP: HandleNone}}, ip, HandleNone},
		{FraudPolicy{Handling: HandlePending, BySignal: map[Signal]Handling{SignalIP: HandleNone}}, name, HandlePending},
		{FraudPolicy{}, Finding{Signal: SignalBlocked, Score: Certain}, HandleDeny},
		{FraudPolicy{BySignal: map[Signal]Handling{SignalEmail: HandleNone}}, Finding{Signal: SignalEmail, Score: Certain}, HandleDeny},
		{FraudPolicy{BySignal: map[Signal]Handling{SignalEmail: HandleNone}}, Finding{Signal: SignalEmail, Score: Certain - 1}, HandleNone},
	} {
		if got := c.policy.For(c.finding); got != c.want {
			t.Errorf("%+v, %+v: %s, want %s", c.policy, c.finding, got, c.want)
		}
	}
}
