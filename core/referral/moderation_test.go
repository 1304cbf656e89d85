package referral

import (
	"slices"
	"testing"
)

func TestModerationState_Automoderate(t *testing.T) {
	ip, name, certain := Finding{SignalIP, "", 50}, Finding{SignalName, "", 50}, Finding{SignalEmail, "", Certain}
	pending := FraudPolicy{Handling: HandlePending}
	mixed := FraudPolicy{Handling: HandlePending, BySignal: map[Signal]Handling{SignalIP: HandleDeny, SignalName: HandleNone}}
	side := func(s SideStatus, byHand bool) Side { return Side{Status: s, ByHand: byHand} }
	for name, c := range map[string]struct {
		from               ModerationState
		policy             FraudPolicy
		found              []Finding
		referrer, referred SideStatus
		moderated          bool // now
	}{
		"nothing found":                     {ModerationState{}, pending, nil, SideApproved, SideApproved, true},
		"nothing found, strictest":          {ModerationState{}, FraudPolicy{Handling: HandleDeny}, nil, SideApproved, SideApproved, true},
		"found, no handling":                {ModerationState{}, FraudPolicy{}, []Finding{ip}, SideApproved, SideApproved, true},
		"found, pending":                    {ModerationState{}, pending, []Finding{ip}, SidePending, SidePending, true},
		"found, denied by signal":           {ModerationState{}, mixed, []Finding{ip}, SideDenied, SideDenied, true},
		"found, passed by signal":           {ModerationState{}, mixed, []Finding{name}, SideApproved, SideApproved, true},
		"the strictest counts":              {ModerationState{}, mixed, []Finding{name, ip}, SideDenied, SideDenied, true},
		"certain, no handling":              {ModerationState{}, FraudPolicy{}, []Finding{certain}, SideDenied, SideDenied, true},
		"found later":                       {ModerationState{Referrer: side(SideApproved, false), Referred: side(SideApproved, false), Moderated: 1}, pending, []Finding{ip}, SidePending, SidePending, true},
		"found before":                      {ModerationState{Referrer: side(SidePending, false), Referred: side(SidePending, false), Moderated: 1, Signals: []Finding{ip}}, pending, nil, SidePending, SidePending, false},
		"found before, looser since":        {ModerationState{Referrer: side(SidePending, false), Referred: side(SidePending, false), Moderated: 1, Signals: []Finding{ip}}, FraudPolicy{}, nil, SidePending, SidePending, false},
		"found before, stricter since":      {ModerationState{Referrer: side(SidePending, false), Referred: side(SidePending, false), Moderated: 1, Signals: []Finding{ip}}, FraudPolicy{Handling: HandleDeny}, nil, SideDenied, SideDenied, true},
		"approved by hand":                  {ModerationState{Referrer: side(SideApproved, true), Referred: side(SideApproved, true), Moderated: 1}, pending, []Finding{ip, certain}, SideApproved, SideApproved, false},
		"one side by hand":                  {ModerationState{Referrer: side(SideApproved, true), Referred: side(SidePending, false), Moderated: 1}, mixed, []Finding{ip}, SideApproved, SideDenied, true},
		"denied by hand, nothing found":     {ModerationState{Referrer: side(SideDenied, true), Referred: side(SideDenied, true), Moderated: 1}, pending, nil, SideDenied, SideDenied, false},
		"an older referral, never examined": {ModerationState{Referrer: side(SideApproved, false), Referred: side(SideApproved, false), Moderated: 1}, pending, nil, SideApproved, SideApproved, false},
	} {
		got := c.from.Automoderate(c.policy, c.found, now)
		if got.Referrer.Status != c.referrer || got.Referred.Status != c.referred {
			t.Errorf("%s: %s and %s", name, got.Referrer.Status, got.Referred.Status)
		}
		if (got.Moderated == now) != c.moderated {
			t.Errorf("%s: moderated at %d", name, got.Moderated)
		}
		if got.ByHand != c.from.ByHand || got.Referrer.ByHand != c.from.Referrer.ByHand || got.Referred.ByHand != c.from.Referred.ByHand {
			t.Errorf("%s: recorded as a moderator's decision", name)
		}
		if want := (got.Referrer.Status == SidePending || got.Referred.Status == SidePending); (got.Status() == "PENDING") != want {
			t.Errorf("%s: %s", name, got.Status())
		}
	}
}

// Of two findings of one signal the one with the higher score is kept, and findings
// are never removed.
func TestModerationState_KeepsSignals(t *testing.T) {
	var m ModerationState
	for _, found := range [][]Finding{
		{{SignalIP, "a", 50}}, {{SignalEmail, "similar", 60}}, {{SignalEmail, "same", 100}, {SignalIP, "b", 50}}, {{SignalEmail, "similar", 60}}, nil,
	} {
		m = m.Automoderate(FraudPolicy{}, found, now)
	}
	if want := []Finding{{SignalIP, "a", 50}, {SignalEmail, "same", 100}}; !slices.Equal(m.Signals, want) {
		t.Errorf("%+v", m.Signals)
	}
}

func TestModerationState_Decide(t *testing.T) {
	pending := Side{Status: SidePending}
	approved, denied := Side{Status: SideApproved, ByHand: true}, Side{Status: SideDenied, ByHand: true}
	for action, want := range map[Action][2]Side{
		Approve: {approved, approved}, Deny: {denied, denied},
		ApproveReferrer: {approved, pending}, ApproveReferred: {pending, approved},
		DenyReferrer: {denied, pending}, DenyReferred: {pending, denied},
	} {
		got := ModerationState{Referrer: pending, Referred: pending, Moderated: 1}.Decide(action, now)
		if got.Referrer != want[0] || got.Referred != want[1] || got.Moderated != now || got.ByHand != now {
			t.Errorf("%s: %+v", action, got)
		}
		if parsed, err := ParseAction("f", string(action)); err != nil || parsed != action {
			t.Errorf("%s: %v", action, err)
		}
	}
	for _, s := range []string{"", "approve", "PENDING", "REFERRER", "REFERRER_PENDING"} {
		if a, err := ParseAction("f", s); err == nil {
			t.Errorf("%q is accepted as %s", s, a)
		}
	}
}

// Invariants after any sequence of findings and decisions.
func TestModerationState_Walk(t *testing.T) {
	type step func(ModerationState) ModerationState
	var steps []step
	for _, p := range []FraudPolicy{{}, {Handling: HandlePending}, {Handling: HandleDeny}} {
		for _, found := range [][]Finding{nil, {{SignalIP, "", 50}}, {{SignalEmail, "", Certain}}} {
			steps = append(steps, func(m ModerationState) ModerationState { return m.Automoderate(p, found, now) })
		}
	}
	automatic := len(steps)
	for _, a := range []Action{Approve, Deny, ApproveReferrer, ApproveReferred, DenyReferrer, DenyReferred} {
		steps = append(steps, func(m ModerationState) ModerationState { return m.Decide(a, now) })
	}
	order := []SideStatus{"", SideApproved, SidePending, SideDenied}
	count := 0
	var walk func(m ModerationState, left int)
	walk = func(m ModerationState, left int) {
		if left == 0 {
			return
		}
		for i, s := range steps {
			count++
			after := s(m)
			for side, pair := range map[string][2]Side{"referrer": {m.Referrer, after.Referrer}, "referred": {m.Referred, after.Referred}} {
				before, now := pair[0], pair[1]
				switch {
				case i < automatic && before.ByHand && now != before:
					t.Fatalf("%s: fraud handling overruled a moderator: %+v to %+v", side, before, now)
				case i < automatic && slices.Index(order, now.Status) < slices.Index(order, before.Status):
					t.Fatalf("%s: fraud handling became less strict: %+v to %+v", side, before, now)
				case before.ByHand && !now.ByHand:
					t.Fatalf("%s: a decision was lost", side)
				case now.ByHand && now.Status == SidePending:
					t.Fatalf("%s: a moderator decided, and it is pending", side)
				case i < automatic && now.Status == "":
					t.Fatalf("%s: no status", side)
				}
			}
			if len(after.Signals) < len(m.Signals) {
				t.Fatal("a signal was lost")
			}
			walk(after, left-1)
		}
	}
	walk(ModerationState{}, 4)
	if want := 15 + 15*15 + 15*15*15 + 15*15*15*15; count != want {
		t.Errorf("%d steps, want %d", count, want)
	}
}

func TestModerationState_Refuse(t *testing.T) {
	approved := ModerationState{Referrer: Side{Status: SideApproved, ByHand: true}, Referred: Side{Status: SidePending}, ByHand: now - 5}
	if m, _ := approved.Refuse(MoneyBack, now-4, now); m.Referrer != (Side{Status: SideDenied}) || m.Referred != m.Referrer {
		t.Errorf("approved before: %+v", m)
	}
	m, changed := approved.Refuse(MoneyBack, now-5, now)
	if again, twice := m.Refuse(ChargedBack, 0, now+1); !changed || twice || !again.same(m) {
		t.Errorf("twice: %+v", again)
	}
	if m.Refused != MoneyBack || m.Referrer.Status != SideApproved || m.Referred.Status != SideDenied || m.Moderated != now || len(m.Signals) != 0 {
		t.Errorf("%+v", m)
	}
}
