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

// desk decides calls on a tenant of whom everything is known: what is wanted is not
// there.
type desk struct {
	*Rules
	*state.State
}

func newDesk() desk {
	drawn := 0
	d := desk{&Rules{Entropy: func(p []byte) {
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

// decide decides a call as the store does, and reports how often that took.
func (d desk) decide(t *testing.T, call func(*state.State) error) (times int, err error) {
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

// loadNone answers that nothing is there which is wanted.
func (d desk) loadNone() {
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
		d.Balances.Load(key, 0)
	}
}

func (d desk) identify(t *testing.T, id string, claims ...core.ReferralCode) Identified {
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

// A friend is referred, pays, and the referrer has a reward: three calls decided one
// after the other on one state, without a database.
func TestRules_FromCodeToReward(t *testing.T) {
	d := newDesk()
	anna := d.identify(t, "anna")
	if !anna.Created || len(anna.User.Codes) != 1 {
		t.Fatalf("a new user has a code: %+v", anna.User)
	}
	friend := d.identify(t, "friend", anna.User.Codes[0].Code)
	if r := friend.ReferredBy.Referral; r == nil || !friend.ReferredBy.Newly || r.Referrer.Account != "anna" {
		t.Fatalf("the friend is referred: %+v", friend.ReferredBy)
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
		t.Fatalf("the referral converted: %+v", r)
	}
	if balance, _ := d.Balances.Get(reward.Owner{Account: "anna", User: "u", Unit: "CENTS"}); balance != 1000 {
		t.Errorf("the balance is %d", balance)
	}
	var told []webhook.Type
	for _, e := range d.Events.Take() {
		told = append(told, e.Type)
	}
	want := []webhook.Type{
		webhook.CouponCreated, webhook.UserCreated,
		webhook.ReferralStarted, webhook.ReferralAutomoderated, webhook.CouponCreated, webhook.UserCreated,
		webhook.RewardCreated, webhook.RewardBalanceChanged, webhook.ReferralConverted,
	}
	if len(told) != len(want) {
		t.Fatalf("events %v; want %v", told, want)
	}
	for i := range want {
		if told[i] != want[i] {
			t.Errorf("event %d is %s; want %s", i, told[i], want[i])
		}
	}
}

// A call that is refused leaves nothing to save, and one that wants more is decided
// anew as if it had not been decided before.
func TestRules_Refused(t *testing.T) {
	d := newDesk()
	in := Identification{Update: referral.UserUpdate{Account: "a", ID: "u"}, KnownAccount: true}
	if times, err := d.decide(t, func(s *state.State) error { _, err := d.Identify(s, in); return err }); err == nil || times != 2 {
		t.Errorf("an unknown account is refused once it is known to be: %v after %d", err, times)
	}
	if len(d.Users.Changed()) > 0 || d.NewCodes.Len() > 0 || d.Events.Len() > 0 {
		t.Error("it left something")
	}
}
