package rules

import (
	"testing"

	"kith/core"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/state"
	"kith/core/webhook"
)

// fixture decides calls on a tenant without stored rows.
type fixture struct {
	*Rules
	*state.State
}

func newFixture() fixture {
	drawn := 0
	d := fixture{&Rules{Entropy: func(p []byte) {
		drawn++
		for i := range p {
			p[i] = byte(drawn >> (i % 4))
		}
	}}, state.New("t", 1000)}
	d.Facts.Load(state.Facts{Listens: true, Programs: []referral.Program{{
		Program:  link.Program{Key: "classic"},
		Referrer: reward.Offer{Kind: reward.Credit, Amount: 1000, Unit: "CENTS", Currency: "USD"},
	}}})
	return d
}

// decide decides a call as the store does, and returns how many times the call was
// decided.
func (d fixture) decide(t *testing.T, call func(*state.State) error) (times int, err error) {
	t.Helper()
	for times = 1; times < 10; times++ {
		if err = call(d.State); !d.Incomplete() {
			break
		}
		d.Drop()
		d.loadNone()
	}
	if err != nil {
		d.Drop()
		return times, err
	}
	d.Keep()
	return times, nil
}

// loadNone loads all wanted rows as not stored.
func (d fixture) loadNone() {
	for _, key := range d.Accounts.Wanted() {
		d.Accounts.LoadNone(key)
	}
	for _, key := range d.Users.Wanted() {
		d.Users.LoadNone(key)
	}
	for _, key := range d.Codes.Wanted() {
		d.Codes.LoadNone(key)
	}
	for _, key := range d.Referred.Wanted() {
		d.Referred.LoadNone(key)
	}
	for _, key := range d.Recent.Wanted() {
		d.Recent.Load(key, nil)
	}
	for _, key := range d.EventKeys.Wanted() {
		d.EventKeys.LoadNone(key)
	}
	for _, key := range d.Balances.Wanted() {
		d.Balances.Load(key, nil)
	}
}

func (d fixture) identify(t *testing.T, id string, claims ...core.ReferralCode) Identified {
	t.Helper()
	in := Identification{Update: referral.UserUpdate{Account: core.AccountID(id), ID: "u"}}
	for _, code := range claims {
		in.Update.Claims = append(in.Update.Claims, referral.Claim{Code: code, Source: referral.SourceInit})
	}
	var out Identified
	if _, err := d.decide(t, func(s *state.State) (err error) {
		out, err = d.Identify(s, in)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// A friend is referred and pays, and the referrer gets a reward: three calls are
// decided one after another on one state, without a database.
func TestRules_FromCodeToReward(t *testing.T) {
	d := newFixture()
	anna := d.identify(t, "anna")
	if !anna.Created || len(anna.User.Codes) != 1 {
		t.Fatalf("a new user has no code: %+v", anna.User)
	}
	friend := d.identify(t, "friend", anna.User.Codes[0].Code)
	if r := friend.ReferredBy.Referral; r == nil || !friend.ReferredBy.Newly || r.Referrer.Account != "anna" {
		t.Fatalf("the friend is not referred: %+v", friend.ReferredBy)
	}
	paid := referral.Paid
	if _, err := d.decide(t, func(s *state.State) error {
		_, err := d.SyncAccount(s, referral.AccountUpdate{ID: "friend", Status: &paid})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	r, ok := d.ReferralOf("friend")
	if !ok || r.State != referral.Converted || r.ReferrerReward == nil || r.ReferrerReward.Offer.Amount != 1000 {
		t.Fatalf("the referral did not convert: %+v", r)
	}
	if balance, _ := d.Balances.Get(reward.Owner{Account: "anna", User: "u", Unit: "CENTS"}); balance.Of("").Available != 1000 {
		t.Errorf("the balance is %d", balance.Of("").Available)
	}
	var types []webhook.Type
	for _, e := range d.Events.Take() {
		types = append(types, e.Type)
	}
	want := []webhook.Type{
		webhook.CouponCreated, webhook.UserCreated,
		webhook.ReferralStarted, webhook.ReferralAutomoderated, webhook.CouponCreated, webhook.UserCreated,
		webhook.RewardCreated, webhook.RewardBalanceChanged, webhook.ReferralConverted,
	}
	if len(types) != len(want) {
		t.Fatalf("events %v; want %v", types, want)
	}
	for i := range want {
		if types[i] != want[i] {
			t.Errorf("event %d is %s; want %s", i, types[i], want[i])
		}
	}
}

// A refused call leaves no changes. A call that needs more rows is decided again,
// without the changes of the first time.
func TestRules_Refused(t *testing.T) {
	d := newFixture()
	in := Identification{Update: referral.UserUpdate{Account: "a", ID: "u"}, KnownAccount: true}
	if times, err := d.decide(t, func(s *state.State) error { _, err := d.Identify(s, in); return err }); err == nil || times != 2 {
		t.Errorf("an unknown account is not refused at the second time: %v after %d", err, times)
	}
	if len(d.Users.Changed()) > 0 || d.NewCodes.Len() > 0 || d.Events.Len() > 0 {
		t.Error("the refused call left changes")
	}
}
