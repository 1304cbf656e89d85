package app_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core"
	"kith/core/link"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/webhook"
)

// fraud sets the fraud policy of the tenant's program.
func (b bundle) fraud(t testing.TB, p referral.FraudPolicy) {
	t.Helper()
	_, err := b.Programs.Update(t.Context(), b.tenant, core.ClassicProgram, func(stored *referral.Program) error {
		stored.Fraud = p
		return nil
	})
	require.NoError(t, err)
}

func (b bundle) moderate(t testing.TB, account string, actions ...referral.Action) {
	t.Helper()
	var all []referral.Moderation
	for _, a := range actions {
		all = append(all, referral.Moderation{Referral: b.referral(t, account).ID, Action: a})
	}
	require.NoError(t, b.Moderation.Apply(t.Context(), people.Caller{Tenant: b.tenant}, all))
}

func name(first, last string) func(*rules.Identification) {
	return func(in *rules.Identification) { in.Update.FirstName, in.Update.LastName = &first, &last }
}

func from(ip string) func(*rules.Identification) {
	return func(in *rules.Identification) { in.IP = ip }
}

// signals returns the signs of fraud of an account's referral.
func (b bundle) signals(t testing.TB, account string) (signals []referral.Signal) {
	t.Helper()
	for _, f := range b.referral(t, account).Moderation.Signals {
		signals = append(signals, f.Signal)
	}
	return signals
}

// statuses returns the moderation of both sides of an account's referral, and the status
// of both rewards: "REFERRER/REFERRED, REWARD/REWARD".
func (b bundle) statuses(t testing.TB, account string) string {
	t.Helper()
	r := b.referral(t, account)
	status := func(w *reward.Reward) string {
		if w == nil {
			return "none"
		}
		return string(w.Status(b.Now()))
	}
	return fmt.Sprintf("%s/%s, %s/%s", r.Moderation.Referrer.Status, r.Moderation.Referred.Status, status(r.ReferrerReward), status(r.ReferredReward))
}

// Two users who refer each other are both to be paid: the rewards of the second referral
// wait for a person, unless the program says otherwise.
func TestFraud_MutualReferral(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"), func(in *rules.Identification) {
			in.Update.Codes = []referral.UserCode{{Program: core.ClassicProgram, Code: "FRIEND10"}}
		})
		require.Empty(t, b.signals(t, "friend"))
		b.identify(t, "anna", claim(referral.SourceInit, "FRIEND10"), paid)
		require.Equal(t, []referral.Signal{referral.SignalMutual}, b.signals(t, "anna"))
		require.Equal(t, "PENDING/PENDING, PENDING/PENDING", b.statuses(t, "anna"))
		b.sync(t, "friend", referral.Paid, "")
		require.Equal(t, "APPROVED/APPROVED, AVAILABLE/AVAILABLE", b.statuses(t, "friend"))

		b.fraud(t, referral.FraudPolicy{BySignal: map[referral.Signal]referral.Handling{referral.SignalMutual: referral.HandleNone}})
		b.identify(t, "third", claim(referral.SourceInit, "ANNA10"), func(in *rules.Identification) {
			in.Update.Codes = []referral.UserCode{{Program: core.ClassicProgram, Code: "THIRD10"}}
		})
		b.identify(t, "fourth", claim(referral.SourceInit, "THIRD10"), paid)
		require.Empty(t, b.signals(t, "fourth"))
	})
}

// Each signal is found at attribution, or at conversion if it began later. The program's
// handling applies to both sides.
func TestFraud_IsFoundAndHandled(t *testing.T) {
	t.Parallel()
	init := claim(referral.SourceInit, "ANNA10")
	for signal, sign := range map[referral.Signal]func(*rules.Identification){
		referral.SignalName:      name("Ahrens", "Anna"),
		referral.SignalEmail:     email("a.nna+x@example.org"),
		referral.SignalTempEmail: email("friend@mailinator.com"),
		referral.SignalIP:        from("192.0.2.1"),
	} {
		for handling, want := range map[referral.Handling][2]string{
			referral.HandleNone:    {"APPROVED/APPROVED, none/none", "APPROVED/APPROVED, AVAILABLE/AVAILABLE"},
			referral.HandlePending: {"PENDING/PENDING, none/none", "PENDING/PENDING, PENDING/PENDING"},
			referral.HandleDeny:    {"DENIED/DENIED, none/none", "DENIED/DENIED, none/none"},
		} {
			t.Run(string(signal)+" "+string(handling), func(t *testing.T) {
				t.Parallel()
				b := newBundle(t)
				b.identify(t, "anna", name("Anna", "Ahrens"), from("192.0.2.1"))
				b.fraud(t, referral.FraudPolicy{Handling: referral.HandleDeny, BySignal: map[referral.Signal]referral.Handling{signal: handling}})

				b.identify(t, "early", init, sign)
				require.Equal(t, []referral.Signal{signal}, b.signals(t, "early"))
				require.Equal(t, want[0], b.statuses(t, "early"))
				b.pass(core.Hour)
				b.identify(t, "early", paid)
				require.Equal(t, want[1], b.statuses(t, "early"))

				b.pass(core.Hour)
				b.identify(t, "late", init)
				require.Empty(t, b.signals(t, "late"))
				require.Equal(t, "APPROVED/APPROVED, none/none", b.statuses(t, "late"))
				b.identify(t, "late", sign)
				require.Empty(t, b.signals(t, "late"), "an identification between attribution and conversion is not checked")
				b.identify(t, "late", paid)
				require.Equal(t, []referral.Signal{signal}, b.signals(t, "late"))
				require.Equal(t, want[1], b.statuses(t, "late"))
			})
		}
	}
}

func TestFraud_TempDomainsOfTheOperator(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.TempDomains = map[string]bool{"throwaway.example": true}
	b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"), email("x@mail.ThrowAway.example"))
	require.Equal(t, []referral.Signal{referral.SignalTempEmail}, b.signals(t, "friend"))
}

// The fourth referral within 30 minutes flags all four, including those that converted.
func TestFraud_Rate(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.fraud(t, referral.FraudPolicy{Handling: referral.HandlePending})
	refer := func(friend string, change ...func(*rules.Identification)) {
		b.identify(t, friend, append(change, claim(referral.SourceInit, "ANNA10"))...)
	}
	refer("f1", paid)
	b.pass(10 * core.Minute)
	refer("f2")
	b.pass(10 * core.Minute)
	refer("f3")
	b.pass(10 * core.Minute)
	refer("f4")
	for _, friend := range []string{"f1", "f2", "f3", "f4"} {
		require.Empty(t, b.signals(t, friend), "the first is 30 minutes old")
	}
	require.Equal(t, "APPROVED/APPROVED, AVAILABLE/AVAILABLE", b.statuses(t, "f1"))
	b.pass(10*core.Minute - 1)
	refer("f5")
	require.Empty(t, b.signals(t, "f1"))
	for _, friend := range []string{"f2", "f3", "f4", "f5"} {
		require.Equal(t, []referral.Signal{referral.SignalRate}, b.signals(t, friend), friend)
		require.Equal(t, "PENDING/PENDING, none/none", b.statuses(t, friend))
	}
	refer("f6")
	require.Equal(t, []referral.Signal{referral.SignalRate}, b.signals(t, "f6"), "and every further one")

	b.identify(t, "other", claim(referral.SourceInit, "BERT20"))
	require.Empty(t, b.signals(t, "other"), "a referral of another referrer")
}

func TestFraud_RateAppliesToEarlierRewards(t *testing.T) {
	t.Parallel()
	for handling, want := range map[referral.Handling]string{
		referral.HandlePending: "PENDING/PENDING, PENDING/PENDING", referral.HandleDeny: "DENIED/DENIED, CANCELLED/CANCELLED",
		referral.HandleNone: "APPROVED/APPROVED, AVAILABLE/AVAILABLE",
	} {
		b := newBundle(t)
		b.fraud(t, referral.FraudPolicy{BySignal: map[referral.Signal]referral.Handling{referral.SignalRate: handling}})
		for i := range 3 {
			b.identify(t, fmt.Sprint("f", i), claim(referral.SourceInit, "ANNA10"), paid)
		}
		b.moderate(t, "f2", referral.Approve)
		require.Equal(t, "APPROVED/APPROVED, AVAILABLE/AVAILABLE", b.statuses(t, "f0"))
		b.identify(t, "f3", claim(referral.SourceInit, "ANNA10"))
		for _, friend := range []string{"f0", "f1"} {
			require.Equal(t, want, b.statuses(t, friend), handling)
		}
		require.Equal(t, "APPROVED/APPROVED, AVAILABLE/AVAILABLE", b.statuses(t, "f2"), "an operator had decided")
		require.Equal(t, []referral.Signal{referral.SignalRate}, b.signals(t, "f2"))
	}
}

// Four concurrent referrals flag each other.
func TestFraud_RateOfManyAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.fraud(t, referral.FraudPolicy{Handling: referral.HandlePending})
		done := make(chan error)
		for i := range 4 {
			go func() {
				_, err := b.Identification.Identify(t.Context(), b.tenant, identification(fmt.Sprint("f", i), claim(referral.SourceInit, "ANNA10"), paid))
				done <- err
			}()
		}
		for range 4 {
			require.NoError(t, <-done)
		}
		for i := range 4 {
			friend := fmt.Sprint("f", i)
			require.Equal(t, []referral.Signal{referral.SignalRate}, b.signals(t, friend))
			require.Equal(t, "PENDING/PENDING, PENDING/PENDING", b.statuses(t, friend))
		}
	})
}

func TestFraud_DailyLimit(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.fraud(t, referral.FraudPolicy{DailyRewards: 2, BySignal: map[referral.Signal]referral.Handling{referral.SignalDailyLimit: referral.HandlePending}})
	for i, want := range []string{"AVAILABLE", "AVAILABLE", "PENDING", "PENDING"} {
		b.pass(core.Hour)
		friend := fmt.Sprint("f", i)
		b.identify(t, friend, claim(referral.SourceInit, "ANNA10"))
		require.Empty(t, b.signals(t, friend), "rewards are counted when one is given")
		b.identify(t, friend, paid)
		require.Equal(t, want, string(b.referral(t, friend).ReferrerReward.Status(b.Now())), friend)
	}
	require.Equal(t, []referral.Signal{referral.SignalDailyLimit}, b.signals(t, "f3"))
	b.pass(22 * core.Hour)
	b.identify(t, "later", claim(referral.SourceInit, "ANNA10"), paid)
	require.Equal(t, []referral.Signal{referral.SignalDailyLimit}, b.signals(t, "later"), "pending rewards count")
	b.pass(2 * core.Hour)
	b.identify(t, "next-day", claim(referral.SourceInit, "ANNA10"), paid)
	require.Empty(t, b.signals(t, "next-day"))
}

// A referral that began with an account sync is checked when its user is identified, and
// when it converts.
func TestFraud_LateSelfReferral(t *testing.T) {
	t.Parallel()
	own := email("Anna+shop@EXAMPLE.com")
	for name, row := range map[string]struct {
		steps []func(*testing.T, bundle)
		rules []string
	}{
		"the user has the referrer's mailbox": {
			[]func(*testing.T, bundle){
				func(t *testing.T, b bundle) { b.sync(t, "friend", "", "ANNA10") },
				func(t *testing.T, b bundle) { b.identify(t, "friend", own) },
				func(t *testing.T, b bundle) { b.sync(t, "friend", referral.Paid, "") },
			},
			[]string{"referral.code ANNA10: first-code", "referral.code ANNA10: self-referral-email"},
		},
		"the account has paid before": {
			[]func(*testing.T, bundle){
				func(t *testing.T, b bundle) { b.sync(t, "friend", referral.Paid, "ANNA10") },
				func(t *testing.T, b bundle) { b.identify(t, "friend", own) },
			},
			[]string{"referral.code ANNA10: first-code", "referral.code ANNA10: self-referral-email"},
		},
		"the account pays in the same call": {
			[]func(*testing.T, bundle){
				func(t *testing.T, b bundle) { b.sync(t, "friend", "", "ANNA10") },
				func(t *testing.T, b bundle) { b.identify(t, "friend", own, paid) },
			},
			[]string{"referral.code ANNA10: first-code", "referral.code ANNA10: self-referral-email"},
		},
		"the mailbox is set in a later identification": {
			[]func(*testing.T, bundle){
				func(t *testing.T, b bundle) { b.sync(t, "friend", "", "ANNA10") },
				func(t *testing.T, b bundle) { b.identify(t, "friend") },
				func(t *testing.T, b bundle) { b.identify(t, "friend", own) },
				func(t *testing.T, b bundle) { b.sync(t, "friend", referral.Paid, "") },
			},
			[]string{"referral.code ANNA10: first-code"},
		},
		"the mailbox is changed after attribution": {
			[]func(*testing.T, bundle){
				func(t *testing.T, b bundle) {
					b.identify(t, "friend", email("x@example.com"), claim(referral.SourceInit, "ANNA10"))
				},
				func(t *testing.T, b bundle) { b.identify(t, "friend", own, paid) },
			},
			[]string{"referral_code ANNA10: first-code"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			for _, step := range row.steps {
				b.pass(core.Second)
				step(t, b)
			}
			require.Equal(t, row.rules, b.rules(t, "friend"))
			require.Equal(t, referral.Converted, b.state(t, "friend"))
			require.Equal(t, "DENIED/DENIED, none/none", b.statuses(t, "friend"))
			require.Equal(t, []referral.Signal{referral.SignalEmail}, b.signals(t, "friend"))
			require.Empty(t, b.rewards(t, "anna"))
			require.Empty(t, b.rewards(t, "friend"))
		})
	}
}

// referable=false refuses the code of an account sync if the account's user is known, and
// denies the rewards if the user is identified later.
func TestFraud_NotReferable(t *testing.T) {
	t.Parallel()
	not := func(in *rules.Identification) { in.Update.Referable = new(bool) }
	b := newBundle(t)
	b.identify(t, "known", not)
	b.sync(t, "known", referral.Paid, "ANNA10")
	require.Equal(t, []string{"referral.code ANNA10: not-referable"}, b.rules(t, "known"))
	require.Nil(t, b.referral(t, "known"))

	b.sync(t, "later", referral.Paid, "ANNA10")
	b.pass(core.Second)
	b.identify(t, "later", not)
	require.Equal(t, []string{"referral.code ANNA10: first-code", "referral.code ANNA10: not-referable"}, b.rules(t, "later"))
	require.Equal(t, "DENIED/DENIED, none/none", b.statuses(t, "later"))
	require.Empty(t, b.signals(t, "later"), "it is not a sign of fraud")
	b.identify(t, "later", paid)
	require.Empty(t, b.rewards(t, "anna"))
}

func TestModerate_Effects(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		handling referral.Handling
		actions  []referral.Action
		want     string
	}{
		"pending, approved":              {referral.HandlePending, []referral.Action{referral.Approve}, "APPROVED/APPROVED, AVAILABLE/AVAILABLE"},
		"pending, denied":                {referral.HandlePending, []referral.Action{referral.Deny}, "DENIED/DENIED, CANCELLED/CANCELLED"},
		"pending, the referrer approved": {referral.HandlePending, []referral.Action{referral.ApproveReferrer}, "APPROVED/PENDING, AVAILABLE/PENDING"},
		"pending, the referred approved": {referral.HandlePending, []referral.Action{referral.ApproveReferred}, "PENDING/APPROVED, PENDING/AVAILABLE"},
		"pending, the referrer denied":   {referral.HandlePending, []referral.Action{referral.DenyReferrer}, "DENIED/PENDING, CANCELLED/PENDING"},
		"pending, the referred denied":   {referral.HandlePending, []referral.Action{referral.DenyReferred}, "PENDING/DENIED, PENDING/CANCELLED"},
		"pending, one of each":           {referral.HandlePending, []referral.Action{referral.ApproveReferrer, referral.DenyReferred}, "APPROVED/DENIED, AVAILABLE/CANCELLED"},
		"given, denied":                  {referral.HandleNone, []referral.Action{referral.Deny}, "DENIED/DENIED, CANCELLED/CANCELLED"},
		"given, approved":                {referral.HandleNone, []referral.Action{referral.Approve}, "APPROVED/APPROVED, AVAILABLE/AVAILABLE"},
		"denied, approved":               {referral.HandleDeny, []referral.Action{referral.Approve}, "APPROVED/APPROVED, AVAILABLE/AVAILABLE"},
		"denied, the referrer approved":  {referral.HandleDeny, []referral.Action{referral.ApproveReferrer}, "APPROVED/DENIED, AVAILABLE/none"},
		"denied, approved one by one":    {referral.HandleDeny, []referral.Action{referral.ApproveReferrer, referral.ApproveReferred}, "APPROVED/APPROVED, AVAILABLE/AVAILABLE"},
		"denied, denied":                 {referral.HandleDeny, []referral.Action{referral.Deny}, "DENIED/DENIED, none/none"},
		"denied, approved, approved":     {referral.HandleDeny, []referral.Action{referral.Approve, referral.Approve}, "APPROVED/APPROVED, AVAILABLE/AVAILABLE"},
		"given, denied, approved":        {referral.HandleNone, []referral.Action{referral.Deny, referral.Approve}, "APPROVED/APPROVED, AVAILABLE/AVAILABLE"},
		"pending, denied, approved":      {referral.HandlePending, []referral.Action{referral.Deny, referral.Approve}, "APPROVED/APPROVED, AVAILABLE/AVAILABLE"},
		"given, denied, one approved":    {referral.HandleNone, []referral.Action{referral.Deny, referral.ApproveReferred}, "DENIED/APPROVED, CANCELLED/AVAILABLE"},
		"of two that differ, the latter": {referral.HandlePending, []referral.Action{referral.Approve, referral.Deny}, "DENIED/DENIED, CANCELLED/CANCELLED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.fraud(t, referral.FraudPolicy{BySignal: map[referral.Signal]referral.Handling{referral.SignalTempEmail: row.handling}})
			b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"), email("x@mailinator.com"), paid)
			b.pass(core.Hour)
			b.moderate(t, "friend", row.actions...)
			require.Equal(t, row.want, b.statuses(t, "friend"))
			m := b.referral(t, "friend").Moderation
			require.Equal(t, []core.Time{start + core.Hour, start + core.Hour}, []core.Time{m.Moderated, m.ByHand})
			require.Equal(t, start+core.Hour, b.referral(t, "friend").Modified)
		})
	}
}

// A decision before the conversion applies at the conversion.
func TestModerate_BeforeConversion(t *testing.T) {
	t.Parallel()
	for action, want := range map[referral.Action]string{
		referral.Approve: "APPROVED/APPROVED, AVAILABLE/AVAILABLE", referral.Deny: "DENIED/DENIED, none/none",
		referral.ApproveReferrer: "APPROVED/PENDING, AVAILABLE/PENDING", referral.DenyReferred: "PENDING/DENIED, PENDING/none",
	} {
		b := newBundle(t)
		b.fraud(t, referral.FraudPolicy{Handling: referral.HandlePending})
		b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"), email("x@mailinator.com"))
		b.moderate(t, "friend", action)
		b.identify(t, "friend", paid)
		require.Equal(t, want, b.statuses(t, "friend"), action)
	}
}

// A denial cancels only what is not redeemed.
func TestModerate_CancelsTheUnusedRest(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"), paid)
	given := b.referral(t, "friend").ReferrerReward
	_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Reward: given.ID, Unit: "CENTS", Amount: 400})
	require.NoError(t, err)
	b.moderate(t, "friend", referral.Deny)
	after := b.referral(t, "friend").ReferrerReward
	require.Equal(t, reward.StatusCancelled, after.Status(b.Now()))
	require.Equal(t, reward.Sums{Redeemed: 400, Cancelled: 600}, after.Sums)
	b.moderate(t, "friend", referral.Approve)
	require.Equal(t, reward.Sums{Redeemed: 400}, b.referral(t, "friend").ReferrerReward.Sums, "an approval restores the cancelled rest")
	_, err = b.Rewards.Cancel(t.Context(), people.OperatorOf(b.tenant), given.ID, "")
	require.NoError(t, err)
	b.moderate(t, "friend", referral.Deny, referral.Approve)
	require.Equal(t, reward.StatusCancelled, b.referral(t, "friend").ReferrerReward.Status(b.Now()), "but not a reward that was cancelled by a call")
}

func TestModerate_AllOrNothing(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"), paid)
	id := b.referral(t, "friend").ID
	other := bundleOn(t, b.DB)
	other.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
	for name, foreign := range map[string]string{"unknown": "nobody", "empty": "", "of another tenant": other.referral(t, "friend").ID} {
		err := b.Moderation.Apply(t.Context(), people.Caller{Tenant: b.tenant}, []referral.Moderation{{Referral: id, Action: referral.Deny}, {Referral: foreign, Action: referral.Deny}})
		require.Equal(t, &core.Error{Code: core.CodeNotFound, Field: "actions[1].referralId", Message: "there is no such referral"}, err, name)
	}
	for _, n := range []int{0, referral.MaxModerations + 1} {
		err := b.Moderation.Apply(t.Context(), people.Caller{Tenant: b.tenant}, make([]referral.Moderation, n))
		require.Equal(t, core.Invalid("actions", "must have 1 to 100 elements"), err)
	}
	require.Equal(t, "APPROVED/APPROVED, AVAILABLE/AVAILABLE", b.statuses(t, "friend"))
	require.Zero(t, b.referral(t, "friend").Moderation.ByHand)
}

// Concurrent moderations and conversions end with the rewards that the decision says, at
// most one on each side.
func TestModerate_AgainstConversions(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.fraud(t, referral.FraudPolicy{Handling: referral.HandlePending})
		b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"), email("x@mailinator.com"))
		id := b.referral(t, "friend").ID
		for _, err := range concurrently(func(i int) error {
			switch i % 4 {
			case 0:
				_, err := b.Accounts.Sync(t.Context(), b.tenant, update("friend", referral.Paid, ""))
				return err
			case 1:
				_, err := b.Identification.Identify(t.Context(), b.tenant, identification("friend", paid))
				return err
			case 2:
				return b.Moderation.Apply(t.Context(), people.Caller{Tenant: b.tenant}, []referral.Moderation{{Referral: id, Action: referral.DenyReferrer}})
			}
			return b.Moderation.Apply(t.Context(), people.Caller{Tenant: b.tenant}, []referral.Moderation{{Referral: id, Action: referral.ApproveReferred}})
		}) {
			require.NoError(t, err)
		}
		require.Contains(t, []string{"DENIED/APPROVED, none/AVAILABLE", "DENIED/APPROVED, CANCELLED/AVAILABLE"}, b.statuses(t, "friend"))
		require.Equal(t, map[reward.Source]int{reward.Referred: 1}, b.rewards(t, "friend"))
		require.LessOrEqual(t, b.rewards(t, "anna")[reward.FriendSignup], 1)
	})
}

// Concurrent approvals of a denied referral give each side one reward.
func TestModerate_ManyApprovalsPayOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.fraud(t, referral.FraudPolicy{Handling: referral.HandleDeny})
		b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"), email("x@mailinator.com"), paid)
		id := b.referral(t, "friend").ID
		for _, err := range concurrently(func(int) error {
			return b.Moderation.Apply(t.Context(), people.Caller{Tenant: b.tenant}, []referral.Moderation{{Referral: id, Action: referral.Approve}})
		}) {
			require.NoError(t, err)
		}
		require.Equal(t, "APPROVED/APPROVED, AVAILABLE/AVAILABLE", b.statuses(t, "friend"))
		require.Equal(t, map[reward.Source]int{reward.FriendSignup: 1}, b.rewards(t, "anna"))
		require.Equal(t, map[reward.Source]int{reward.Referred: 1}, b.rewards(t, "friend"))
	})
}

// An approval of a denied referral gives no more than the program's limits allow.
func TestModerate_KeepsTheLimits(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	_, err := b.Programs.Update(t.Context(), b.tenant, core.ClassicProgram, func(p *referral.Program) error {
		p.Limits.Total, p.Fraud.Handling = 1, referral.HandleDeny
		return nil
	})
	require.NoError(t, err)
	b.identify(t, "denied", claim(referral.SourceInit, "ANNA10"), email("x@mailinator.com"), paid)
	b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"), paid)
	b.moderate(t, "denied", referral.Approve)
	require.Equal(t, "APPROVED/APPROVED, none/AVAILABLE", b.statuses(t, "denied"))
}

func TestReferral_EmitsItsTransitions(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	queue := b.subscribe(t, hook)
	step := func(want []webhook.Type, do func()) {
		t.Helper()
		before := len(b.sent(t, queue))
		b.pass(core.Second)
		do()
		var emitted []webhook.Type
		for _, typ := range b.sent(t, queue)[before:] {
			if typ == webhook.ReferralStarted || typ == webhook.ReferralAutomoderated || typ == webhook.ReferralConverted || typ == webhook.ReferralEnded {
				emitted = append(emitted, typ)
			}
		}
		require.ElementsMatch(t, want, emitted)
	}
	started := []webhook.Type{webhook.ReferralStarted, webhook.ReferralAutomoderated}
	step(started, func() { b.identify(t, "friend", claim(referral.SourceInit, "ANNA10")) })
	step(nil, func() { b.identify(t, "friend", email("x@example.com")) })
	step([]webhook.Type{webhook.ReferralConverted}, func() { b.identify(t, "friend", paid) })
	step(nil, func() { b.sync(t, "friend", referral.Paid, "") })
	step(nil, func() { b.moderate(t, "friend", referral.Deny) })
	step([]webhook.Type{webhook.ReferralEnded}, func() { b.sync(t, "friend", referral.Cancelled, "") })
	step(nil, func() { b.sync(t, "friend", referral.Cancelled, "") })
	step(started, func() { b.sync(t, "account", referral.Paid, "ANNA10") })
	step([]webhook.Type{webhook.ReferralConverted}, func() { b.identify(t, "account") })
	step(append(started, webhook.ReferralConverted), func() { b.identify(t, "at-once", claim(referral.SourceInit, "ANNA10"), paid) })
	step(nil, func() {
		_, err := b.Identification.Identify(t.Context(), b.tenant, identification("refused", claim(referral.SourceInit, "ANNA10"), paid, codes(referral.UserCode{Program: "nope", Code: "X"})))
		require.Error(t, err)
	})
}

// A referral by a share link has the URL of that link.
func TestReferral_ShareLinkUsed(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	share := func(in *rules.Identification) {
		in.Share = link.Share{Origin: "https://go.example", Tenant: b.tenant}
	}
	b.identify(t, "friend", b.cookie("anna10"), share)
	ref := b.referral(t, "friend")
	require.Equal(t, "https://go.example/s/"+string(b.tenant)+"/anna10?rsShareMedium=FACEBOOK", ref.ShareLink)
	b.identify(t, "typed", claim(referral.SourceInit, "ANNA10"), share)
	require.Empty(t, b.referral(t, "typed").ShareLink)
}

func TestReferral_ByItsID(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
	want := b.referral(t, "friend")
	got, err := b.Referrals.ByID(t.Context(), b.tenant, want.ID)
	require.NoError(t, err)
	require.Equal(t, *want, got)
	for _, id := range []string{"", "nobody"} {
		_, err := b.Referrals.ByID(t.Context(), b.tenant, id)
		var known *core.Error
		require.True(t, errors.As(err, &known))
		require.Equal(t, core.NotFound("there is no such referral"), known)
	}
}

// If the referred user is blocked after the referral began, both sides are denied, whatever
// the fraud policy says. If the referrer is, the friend keeps what was promised.
func TestFraud_Blocked(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	want := map[string]string{"by-anna": "DENIED/APPROVED, none/AVAILABLE", "by-bert": "DENIED/DENIED, none/none"}
	for friend, blocked := range map[string]core.AccountID{"by-anna": "anna", "by-bert": "by-bert"} {
		code := map[string]core.ReferralCode{"by-anna": "ANNA10", "by-bert": "BERT20"}[friend]
		b.identify(t, friend, claim(referral.SourceInit, code))
		require.Empty(t, b.signals(t, friend))
		require.NoError(t, b.Users.Block(t.Context(), b.tenant, blocked, "u", ""))
		b.identify(t, friend, paid)
		require.Equal(t, []referral.Signal{referral.SignalBlocked}, b.signals(t, friend))
		require.Equal(t, want[friend], b.statuses(t, friend))
	}
}
