package referral

import (
	"testing"

	"kith/core"
)

const now core.Time = 1_700_000_000_000

// fresh is the referred user in these tests.
var fresh = Identity{Account: "bob-inc", User: "bob", Email: "bob@example.com"}

// claim returns a claim of an existing code of another user.
func claim(code core.ReferralCode, source Source) Claim {
	return Claim{
		Code: code, Source: source, Known: true, Referred: fresh,
		Owner: Identity{Account: "ann-inc", User: "ann", Email: "ann@example.com"},
	}
}

// same reports whether two standings are equal; an empty state is None.
func same(a, b Standing) bool {
	if a.Referral == "" {
		a.Referral = None
	}
	if b.Referral == "" {
		b.Referral = None
	}
	return a == b
}

// rules returns the rules of the verdicts, in order.
func rules(out Outcome) []Rule {
	var list []Rule
	for _, v := range out.Verdicts {
		list = append(list, v.Rule)
	}
	return list
}

func checkRules(t *testing.T, name string, out Outcome, want ...Rule) {
	t.Helper()
	got := rules(out)
	if len(got) != len(want) {
		t.Errorf("%s: rules %v, want %v", name, got, want)
		return
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: rules %v, want %v", name, got, want)
			return
		}
	}
	accepted := len(want) > 0 && want[len(want)-1] == RuleFirstCode
	if (out.Attributed != nil) != accepted {
		t.Errorf("%s: attributed %+v with rules %v", name, out.Attributed, got)
	}
}

// The table of spec 3.1, row by row.
func TestDecide_Spec(t *testing.T) {
	inProgress := Standing{Referral: InProgress, Code: "ANN"}
	identified := Standing{Referral: InProgress, Code: "ANN", Identified: true}
	for _, c := range []struct {
		name      string
		from      Standing
		command   Command
		want      Standing
		rules     []Rule
		converted bool
	}{
		{
			name:    "none, code is set on an account -> in-progress",
			command: Command{Now: now, Claims: []Claim{claim("ANN", SourceAccount)}},
			want:    inProgress,
			rules:   []Rule{RuleFirstCode},
		},
		{
			name:    "none, code is set on an account, not the first time",
			from:    inProgress,
			command: Command{Now: now, Claims: []Claim{claim("EVE", SourceAccount)}},
			want:    inProgress,
			rules:   []Rule{RuleAlreadyReferred},
		},
		{
			name:    "none, referral_code set at user identification -> in-progress",
			command: Command{Now: now, Identify: true, NewUser: true, Claims: []Claim{claim("ANN", SourceInit)}},
			want:    identified,
			rules:   []Rule{RuleFirstCode},
		},
		{
			name:    "none, referral_code set at identification of a known user -> in-progress",
			from:    Standing{Identified: true},
			command: Command{Now: now, Identify: true, Claims: []Claim{claim("ANN", SourceInit)}},
			want:    identified,
			rules:   []Rule{RuleFirstCode},
		},
		{
			name:    "none, new account and user and a tracking cookie -> in-progress",
			command: Command{Now: now, Identify: true, NewUser: true, Claims: []Claim{claim("ANN", SourceCookie)}},
			want:    identified,
			rules:   []Rule{RuleFirstCode},
		},
		{
			name:    "none, tracking cookie, user seen before",
			from:    Standing{Identified: true},
			command: Command{Now: now, Identify: true, Claims: []Claim{claim("ANN", SourceCookie)}},
			want:    Standing{Identified: true},
			rules:   []Rule{RuleKnownUser},
		},
		{
			name:    "none, tracking cookie, status already PAID",
			from:    Standing{FirstPaid: 7},
			command: Command{Now: now, Identify: true, NewUser: true, Claims: []Claim{claim("ANN", SourceCookie)}},
			want:    Standing{FirstPaid: 7, Identified: true},
			rules:   []Rule{RuleClosed},
		},
		{
			name:      "in-progress, account status first becomes PAID -> converted",
			from:      identified,
			command:   Command{Now: now, Paid: true},
			want:      Standing{Referral: Converted, Code: "ANN", FirstPaid: now, Identified: true},
			converted: true,
		},
		{
			name:      "in-progress, account_status PAID at identification -> converted",
			from:      inProgress,
			command:   Command{Now: now, Identify: true, NewUser: true, Paid: true},
			want:      Standing{Referral: Converted, Code: "ANN", FirstPaid: now, Identified: true},
			converted: true,
		},
		{
			name:    "in-progress, PAID before any user has been identified waits",
			from:    inProgress,
			command: Command{Now: now, Paid: true},
			want:    Standing{Referral: InProgress, Code: "ANN", FirstPaid: now},
		},
		{
			name:      "in-progress and PAID, the first user is identified -> converted",
			from:      Standing{Referral: InProgress, Code: "ANN", FirstPaid: 7},
			command:   Command{Now: now, Identify: true, NewUser: true},
			want:      Standing{Referral: Converted, Code: "ANN", FirstPaid: 7, Identified: true},
			converted: true,
		},
		{
			name:    "converted, PAID again",
			from:    Standing{Referral: Converted, Code: "ANN", FirstPaid: 7, Identified: true},
			command: Command{Now: now, Identify: true, Paid: true},
			want:    Standing{Referral: Converted, Code: "ANN", FirstPaid: 7, Identified: true},
		},
		{
			name:    "none (user not referred), first becomes PAID -> none",
			from:    Standing{Identified: true},
			command: Command{Now: now, Paid: true},
			want:    Standing{FirstPaid: now, Identified: true},
		},
		{
			name:    "none (user not referred), PAID before, a code later",
			from:    Standing{FirstPaid: 7, Identified: true},
			command: Command{Now: now, Identify: true, Claims: []Claim{claim("ANN", SourceInit)}},
			want:    Standing{FirstPaid: 7, Identified: true},
			rules:   []Rule{RuleClosed},
		},
		{
			name:    "none (account not referred), PAID before any user, a code later",
			from:    Standing{FirstPaid: 7},
			command: Command{Now: now, Claims: []Claim{claim("ANN", SourceAccount)}},
			want:    Standing{FirstPaid: 7},
			rules:   []Rule{RuleClosed},
		},
		{
			name:      "one call that attributes and converts",
			command:   Command{Now: now, Identify: true, NewUser: true, Paid: true, Claims: []Claim{claim("ANN", SourceInit)}},
			want:      Standing{Referral: Converted, Code: "ANN", FirstPaid: now, Identified: true},
			rules:     []Rule{RuleFirstCode},
			converted: true,
		},
		{
			name:    "one account sync that attributes and pays, before any user",
			command: Command{Now: now, Paid: true, Claims: []Claim{claim("ANN", SourceAccount)}},
			want:    Standing{Referral: InProgress, Code: "ANN", FirstPaid: now},
			rules:   []Rule{RuleFirstCode},
		},
	} {
		got, out := Decide(c.from, c.command)
		if !same(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		if out.Converted != c.converted {
			t.Errorf("%s: converted %v", c.name, out.Converted)
		}
		checkRules(t, c.name, out, c.rules...)
	}
}

// Each rule, with claims that it decides.
func TestDecide_Rules(t *testing.T) {
	with := func(change func(*Claim)) []Claim {
		c := claim("ANN", SourceInit)
		change(&c)
		return []Claim{c}
	}
	for _, c := range []struct {
		rule   Rule
		name   string
		from   Standing
		known  bool // the user was seen before
		claims []Claim
	}{
		{RuleFirstCode, "a valid claim", Standing{}, false, with(func(c *Claim) {})},
		{RuleFirstCode, "no address on either side", Standing{}, false, with(func(c *Claim) { c.Owner.Email, c.Referred.Email = "", "" })},
		{RuleFirstCode, "not addresses", Standing{}, false, with(func(c *Claim) { c.Owner.Email, c.Referred.Email = "ann", "ann" })},
		{RuleFirstCode, "two addresses with only a tag", Standing{}, false, with(func(c *Claim) { c.Owner.Email, c.Referred.Email = "+a@example.com", "+b@example.com" })},
		{RuleFirstCode, "same name at another domain", Standing{}, false, with(func(c *Claim) { c.Owner.Email = "bob@example.org" })},
		{RuleFirstCode, "same user id in another account", Standing{}, false, with(func(c *Claim) { c.Owner.User = "bob" })},
		{RuleSameCode, "the same code again", Standing{Referral: InProgress, Code: "ANN"}, true, with(func(c *Claim) {})},
		{RuleSameCode, "in another spelling", Standing{Referral: InProgress, Code: "ann"}, true, with(func(c *Claim) {})},
		{RuleSameCode, "after conversion", Standing{Referral: Converted, Code: "ANN", FirstPaid: 7}, true, with(func(c *Claim) {})},
		{RuleAlreadyReferred, "another code", Standing{Referral: InProgress, Code: "EVE"}, true, with(func(c *Claim) {})},
		{RuleAlreadyReferred, "after conversion", Standing{Referral: Converted, Code: "EVE", FirstPaid: 7}, true, with(func(c *Claim) {})},
		{RuleClosed, "PAID while unreferred", Standing{FirstPaid: 7}, true, with(func(c *Claim) {})},
		{RuleUnknownCode, "no such code", Standing{}, false, with(func(c *Claim) { c.Known = false })},
		{RuleSelfAccount, "the user's own code", Standing{}, false, with(func(c *Claim) { c.Owner = c.Referred })},
		{RuleSelfAccount, "a colleague's code", Standing{}, false, with(func(c *Claim) { c.Owner.Account = c.Referred.Account })},
		{RuleSelfAccount, "in an account sync", Standing{}, false, with(func(c *Claim) { c.Owner.Account, c.Referred = "bob-inc", Identity{Account: "bob-inc"} })},
		{RuleSelfEmail, "the same address", Standing{}, false, with(func(c *Claim) { c.Owner.Email = "bob@example.com" })},
		{RuleSelfEmail, "in another case", Standing{}, false, with(func(c *Claim) { c.Owner.Email = " BOB@Example.com " })},
		{RuleSelfEmail, "with a tag", Standing{}, false, with(func(c *Claim) { c.Owner.Email = "bob+shop@example.com" })},
		{RuleSelfEmail, "in quotes", Standing{}, false, with(func(c *Claim) { c.Owner.Email = `"bob"@example.com` })},
		{RuleSelfEmail, "in brackets", Standing{}, false, with(func(c *Claim) { c.Owner.Email = `<bob@example.com>` })},
		{RuleSelfEmail, "with a comment", Standing{}, false, with(func(c *Claim) { c.Owner.Email = `bob(me)@example.com` })},
		{RuleSelfEmail, "with wide letters", Standing{}, false, with(func(c *Claim) { c.Owner.Email = `ｂob@example.com` })},
		{RuleSelfEmail, "with a point at the end", Standing{}, false, with(func(c *Claim) { c.Owner.Email = `bob@example.com.` })},
		{RuleUnreferable, "marked as not referable", Standing{}, false, with(func(c *Claim) { c.Unreferable = true })},
		{RuleKnownUser, "Kith's cookie, known user", Standing{Identified: true}, true, with(func(c *Claim) { c.Source = SourceCookie })},
		{RuleKnownUser, "cookie of the body, known user", Standing{Identified: true}, true, with(func(c *Claim) { c.Source = SourceBody })},
		{RuleCookieForm, "unreadable cookie", Standing{}, false, []Claim{{Source: SourceBody, Fault: RuleCookieForm}}},
		{RuleCookieForged, "forged cookie", Standing{}, false, []Claim{{Source: SourceCookie, Fault: RuleCookieForged}}},
		{RuleCookieExpired, "code that expires now", Standing{}, false, with(func(c *Claim) { c.Source, c.Expires = SourceBody, now })},
		{RuleFirstCode, "code that expires later", Standing{}, false, with(func(c *Claim) { c.Source, c.Expires = SourceThirdParty, now+1 })},
		{RuleCookieExpired, "expired cookie", Standing{}, false, with(func(c *Claim) { c.Source, c.Fault = SourceCookie, RuleCookieExpired })},
	} {
		got, out := Decide(c.from, Command{Now: now, Identify: true, NewUser: !c.known, Claims: c.claims})
		checkRules(t, string(c.rule)+", "+c.name, out, c.rule)
		if out.Attributed == nil && (got.Code != c.from.Code || !same(Standing{Referral: got.Referral}, Standing{Referral: c.from.Referral})) {
			t.Errorf("%s, %s: the standing changed to %+v", c.rule, c.name, got)
		}
	}
}

// An account that was deleted after it had earned is no new customer. A member may refer it.
func TestDecide_DeletedBefore(t *testing.T) {
	for source, want := range map[Source]Rule{
		SourceCodes: RuleDeleted, SourceCookie: RuleDeleted, SourceAccount: RuleDeleted, SourceEvent: RuleDeleted, SourceByHand: RuleFirstCode,
	} {
		_, out := Decide(Standing{}, Command{Now: now, Identify: true, NewUser: true, Deleted: true, Claims: []Claim{claim("ANN", source)}})
		checkRules(t, string(source), out, want)
	}
	_, out := Decide(Standing{Referral: InProgress, Code: "ANN"}, Command{Now: now, Deleted: true, Claims: []Claim{claim("ANN", SourceCodes)}})
	checkRules(t, "referred by hand", out, RuleSameCode)
}

// An explicit code counts for a known user too; a code in a cookie does not.
func TestSource_Automatic(t *testing.T) {
	for source, automatic := range map[Source]bool{
		SourceAccount: false, SourceCodes: false, SourceReferredBy: false, SourceInit: false,
		SourceCookie: true, SourceBody: true, SourceThirdParty: true,
	} {
		_, out := Decide(Standing{Identified: true}, Command{Now: now, Identify: true, Claims: []Claim{claim("ANN", source)}})
		if source.Automatic() != automatic || (out.Attributed == nil) != automatic {
			t.Errorf("%s: automatic %v, attributed %+v", source, source.Automatic(), out.Attributed)
		}
	}
}

// After a refused claim the next one is considered. Claims after the accepted one are
// ignored.
func TestDecide_FallsThrough(t *testing.T) {
	unknown := claim("NONE", SourceCodes)
	unknown.Known = false
	own := claim("BOB", SourceInit)
	own.Owner.Account = fresh.Account
	claims := []Claim{unknown, own, {Source: SourceCookie, Fault: RuleCookieForged}, claim("ANN", SourceBody), claim("EVE", SourceBody)}

	got, out := Decide(Standing{}, Command{Now: now, Identify: true, NewUser: true, Claims: claims})

	checkRules(t, "falls through", out, RuleUnknownCode, RuleSelfAccount, RuleCookieForged, RuleFirstCode)
	if got.Code != "ANN" || out.Attributed != &claims[3] {
		t.Errorf("attributed %+v, code %q", out.Attributed, got.Code)
	}
	if !out.Verdicts[3].Accepted() || out.Verdicts[0].Accepted() {
		t.Error("Accepted is wrong")
	}
}

// PAID while unreferred closes an account permanently.
func TestDecide_StaysClosed(t *testing.T) {
	s, _ := Decide(Standing{}, Command{Now: now, Paid: true})
	for i, c := range []Command{
		{Now: now + 1, Claims: []Claim{claim("ANN", SourceAccount)}},
		{Now: now + 2, Identify: true, NewUser: true, Claims: []Claim{claim("ANN", SourceCookie)}},
		{Now: now + 3, Identify: true, NewUser: true, Claims: []Claim{claim("ANN", SourceBody)}},
		{Now: now + 4, Identify: true, Claims: []Claim{claim("ANN", SourceInit)}, Paid: true},
		{Now: now + 5, Claims: []Claim{claim("EVE", SourceAccount)}, Paid: true},
	} {
		var out Outcome
		s, out = Decide(s, c)
		checkRules(t, "closed", out, RuleClosed)
		if !s.Closed() || s.Referral != None || s.Code != "" || s.FirstPaid != now || out.Converted {
			t.Errorf("command %d reopened it: %+v", i, s)
		}
	}
}

// walk calls visit for every sequence of up to length commands.
func walk(alphabet []Command, length int, s Standing, path []int, visit func(path []int, before, after Standing, c Command, out Outcome)) {
	if length == 0 {
		return
	}
	for i, c := range alphabet {
		c.Now = now + core.Time(len(path))
		after, out := Decide(s, c)
		step := append(path, i)
		visit(step, s, after, c, out)
		walk(alphabet, length-1, after, step, visit)
	}
}

// Invariants after any sequence of calls.
func TestDecide_Walk(t *testing.T) {
	unknown := claim("NONE", SourceInit)
	unknown.Known = false
	var alphabet []Command
	for _, claims := range [][]Claim{
		nil, {claim("ANN", SourceInit)}, {unknown, claim("EVE", SourceCookie)},
	} {
		for _, identify := range []bool{false, true} {
			for _, paid := range []bool{false, true} {
				alphabet = append(alphabet, Command{Identify: identify, NewUser: identify, Paid: paid, Claims: claims})
			}
		}
	}
	alphabet = append(alphabet, Command{Identify: true, Claims: []Claim{claim("EVE", SourceCookie)}})

	// Counts of the current path, by its length.
	var conversions, attributions [6]int
	steps := 0
	walk(alphabet, 5, Standing{}, make([]int, 0, 5), func(path []int, before, after Standing, c Command, out Outcome) {
		steps++
		n := len(path)
		conversions[n], attributions[n] = conversions[n-1], attributions[n-1]
		if out.Converted {
			conversions[n]++
		}
		if out.Attributed != nil {
			attributions[n]++
		}
		broken := ""
		switch {
		case before.Referral == Converted && after.Referral != Converted:
			broken = "a converted referral went back"
		case before.Referral == InProgress && after.Referral == None:
			broken = "a referral was undone"
		case before.Code != "" && after.Code != before.Code:
			broken = "the code changed"
		case (after.Code == "") != (after.Referral == None):
			broken = "a code without a referral, or a referral without a code"
		case before.Closed() && !after.Closed():
			broken = "a closed account was referred"
		case before.FirstPaid != 0 && after.FirstPaid != before.FirstPaid:
			broken = "the first payment changed"
		case before.Identified && !after.Identified:
			broken = "an identified user was lost"
		case after.Referral == Converted && (after.FirstPaid == 0 || !after.Identified):
			broken = "converted without payment or without a user"
		case after.Referral == InProgress && after.FirstPaid != 0 && after.Identified:
			broken = "paid, identified and still in progress"
		case (conversions[n] == 1) != (after.Referral == Converted) || conversions[n] > 1:
			broken = "not exactly one conversion"
		case (attributions[n] == 1) != (after.Referral != None) || attributions[n] > 1:
			broken = "not exactly one attribution"
		case c.Paid && after.FirstPaid == 0:
			broken = "a payment was lost"
		case len(c.Claims) > 0 && len(out.Verdicts) == 0:
			broken = "a claim has no verdict"
		}
		if broken != "" {
			t.Fatalf("%s: after %v %+v became %+v with %+v", broken, path, before, after, out)
		}
		// Repeating the call changes nothing.
		again, repeated := Decide(after, c)
		if again != after || repeated.Attributed != nil || repeated.Converted {
			t.Fatalf("after %v the same call again gives %+v, %+v", path, again, repeated)
		}
	})
	want, power := 0, 1
	for range 5 {
		power *= len(alphabet)
		want += power
	}
	if steps != want {
		t.Errorf("%d steps, want %d", steps, want)
	}
}

func TestDecide_KeepsTheClaims(t *testing.T) {
	claims := []Claim{claim("ANN", SourceInit), claim("EVE", SourceInit)}
	Decide(Standing{}, Command{Now: now, Claims: claims})
	if claims[0] != claim("ANN", SourceInit) || claims[1] != claim("EVE", SourceInit) {
		t.Errorf("the caller's claims became %+v", claims)
	}
}
