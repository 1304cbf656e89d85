package referral

import (
	"testing"

	"kith/core/reward"
)

func TestReferral_SeenBy(t *testing.T) {
	tank := &reward.Reward{
		ID: "w", Offer: reward.Offer{Kind: reward.FuelTank, Amount: 5, Settings: "{}"}, FuelTankCode: "SECRET",
		Sums: reward.Sums{Redeemed: 3}, Redemptions: []reward.Redeemed{{ID: "x"}},
	}
	r := Referral{
		Referrer: Identity{Account: "a", User: "ann", Email: "ann@example.com"}, ReferrerProfile: Profile{FirstName: "Ann", LastName: "Ärbor"}, ReferrerReward: tank,
		Referred: Identity{Account: "b", User: "bob", Email: "bob@example.com"}, ReferredProfile: Profile{FirstName: "Bob", LastName: ""}, ReferredReward: tank,
		Moderation: ModerationState{Signals: []Finding{{Signal: SignalIP}}},
	}
	shown := func(email, last string, w *reward.Reward) bool {
		return email != "" && last != "Ä" && w.FuelTankCode == "SECRET" && w.Sums.Redeemed == 3 && len(w.Redemptions) == 1
	}
	hidden := func(email, last string, w *reward.Reward) bool {
		return email == "" && len(last) <= 2 && w.FuelTankCode == "" && w.Offer.Settings == "" && w.Sums.Redeemed == 0 && w.Redemptions == nil && w.Offer.Amount == 5
	}
	for name, c := range map[string]struct {
		seen               Referral
		referrer, referred func(email, last string, w *reward.Reward) bool
	}{
		"the referrer":                {r.SeenBy("a", "ann"), shown, hidden},
		"the referred":                {r.SeenBy("b", "bob"), hidden, shown},
		"another user of the account": {r.SeenBy("a", "bob"), hidden, hidden},
		"no user":                     {r.SeenBy("", ""), hidden, hidden},
	} {
		s := c.seen
		if !c.referrer(s.Referrer.Email, s.ReferrerProfile.LastName, s.ReferrerReward) || !c.referred(s.Referred.Email, s.ReferredProfile.LastName, s.ReferredReward) {
			t.Errorf("%s sees %+v", name, s)
		}
		if s.Moderation.Signals != nil || s.ReferrerProfile.FirstName != "Ann" || s.ReferredProfile.FirstName != "Bob" {
			t.Errorf("%s sees %+v", name, s)
		}
	}
	r.Referrer.User, r.Referred.Account, r.Referred.User = "ann@example.com", "+491701", "bob@example.com"
	tank.Account, tank.User = "+491701", "bob@example.com"
	seen := r.WithoutAddresses("a", "ann@example.com")
	if seen.Referrer.User != "ann@example.com" || seen.ReferrerReward.User != "bob@example.com" {
		t.Errorf("the user's own ids: %+v", seen)
	}
	if seen.Referred.Account != "" || seen.Referred.User != "" || seen.ReferredReward.Account != "" || seen.ReferredReward.User != "" {
		t.Errorf("ids that are addresses: %+v", seen)
	}
	if seen = r.WithoutAddresses("+491701", "bob@example.com"); seen.Referrer.Account != "a" || seen.Referrer.User != "" {
		t.Errorf("an id without a meaning stays: %+v", seen)
	}
	if tank.FuelTankCode != "SECRET" || (Referral{}).SeenBy("", "").ReferrerReward != nil {
		t.Error("the stored reward changed, or a nil reward was replaced")
	}
}

// A side shows its first reward, in whatever order they are attached.
func TestReferral_AttachKeepsTheFirst(t *testing.T) {
	first := reward.Reward{ID: "b", Source: reward.FriendSignup, Created: 5}
	for _, others := range [][]reward.Reward{
		{first, {ID: "c", Source: reward.FriendSignup, Created: 5}, {ID: "a", Source: reward.FriendSignup, Created: 6}},
		{{ID: "c", Source: reward.FriendSignup, Created: 5}, first, {ID: "a", Source: reward.FriendSignup, Created: 6}},
		{{ID: "a", Source: reward.FriendSignup, Created: 6}, {ID: "c", Source: reward.FriendSignup, Created: 5}, first},
	} {
		r := Referral{}
		for _, w := range others {
			r.Attach(w)
		}
		if r.ReferrerReward.ID != "b" || r.ReferredReward != nil {
			t.Errorf("%+v", r)
		}
		changed := first
		changed.Held = true
		if r.Attach(changed); !r.ReferrerReward.Held {
			t.Error("the first reward did not change")
		}
	}
}
