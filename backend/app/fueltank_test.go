package app_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
)

// tank changes the program so that the referrer earns a code of a fuel tank, worth 10 %.
func (b bundle) tank(t testing.TB, change ...func(*referral.Program)) {
	t.Helper()
	_, err := b.Programs.Update(t.Context(), b.tenant, core.ClassicProgram, func(p *referral.Program) error {
		p.Referrer = reward.Offer{Kind: reward.FuelTank, Unit: reward.UnitPercent, Amount: 1000}
		for _, c := range change {
			c(p)
		}
		return nil
	})
	require.NoError(t, err)
}

func (b bundle) fuel(t testing.TB, codes ...string) reward.Tank {
	t.Helper()
	tank, err := b.FuelTanks.Fill(t.Context(), b.tenant, core.ClassicProgram, referral.ReferrerSide, codes)
	require.NoError(t, err)
	return tank
}

// fuelCode returns the code that the referrer of an account got, or "".
func (b bundle) fuelCode(t testing.TB, account string) string {
	t.Helper()
	if w := b.referral(t, account).ReferrerReward; w != nil {
		return w.FuelTankCode
	}
	return ""
}

// Codes are given in the order in which they were added. Rewards without a code wait, and
// get theirs in the order in which they were earned.
func TestFuelTank_GivesCodesInOrder(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.tank(t)
	require.Equal(t, reward.Tank{Available: 2}, b.fuel(t, "B", "A", "B"))
	refer := func(friend string) string {
		b.pass(core.Second)
		b.identify(t, friend, claim(referral.SourceInit, "ANNA10"), paid)
		return b.fuelCode(t, friend)
	}
	require.Equal(t, "B", refer("f1"))
	require.Equal(t, "A", refer("f2"))
	given := b.referral(t, "f2").ReferrerReward
	require.Equal(t, reward.PercentDiscount, given.FuelTankType)
	require.Equal(t, reward.StatusAvailable, given.Status(b.Now()))
	require.Empty(t, refer("f3"))
	require.Empty(t, refer("f4"))
	require.Equal(t, referral.Converted, b.state(t, "f3"))
	require.NotNil(t, b.referral(t, "f3").ReferredReward, "the other side does not wait")
	tank, err := b.FuelTanks.Level(t.Context(), b.tenant, core.ClassicProgram, referral.ReferrerSide)
	require.NoError(t, err)
	require.Equal(t, reward.Tank{Given: 2, Due: 2}, tank)

	require.Equal(t, reward.Tank{Given: 3, Due: 1}, b.fuel(t, "A", "C"), "A was given before")
	require.Equal(t, []string{"C", ""}, []string{b.fuelCode(t, "f3"), b.fuelCode(t, "f4")})
	require.Equal(t, reward.Tank{Available: 1, Given: 4}, b.fuel(t, "D", "E"))
	require.Equal(t, "D", b.fuelCode(t, "f4"))
	require.Equal(t, "E", refer("f5"))
}

func TestFuelTank_Refused(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	fill := func(key core.ProgramKey, n int) error {
		_, err := b.FuelTanks.Fill(t.Context(), b.tenant, key, referral.ReferrerSide, make([]string, n))
		return err
	}
	require.Equal(t, core.NotFound("there is no such program"), fill("nope", 1))
	require.Equal(t, &core.Error{Code: core.CodeConflict, Message: "the referrer does not earn a FUELTANK reward in this program"}, fill(core.ClassicProgram, 1))
	for _, n := range []int{0, reward.MaxTankCodes + 1} {
		require.Equal(t, core.Invalid("codes", "must have 1 to 1000 elements"), fill(core.ClassicProgram, n))
	}
	_, err := b.FuelTanks.Level(t.Context(), b.tenant, "nope", referral.ReferrerSide)
	require.Equal(t, core.NotFound("there is no such program"), err)
}

// A pending reward gets a code. A denied reward gets none until it is approved.
func TestFuelTank_AndModeration(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.tank(t, func(p *referral.Program) {
		p.Fraud = referral.FraudPolicy{Handling: referral.HandlePending, BySignal: map[referral.Signal]referral.Handling{referral.SignalTempEmail: referral.HandleDeny}}
	})
	b.fuel(t, "A", "B")
	b.identify(t, "pending", claim(referral.SourceInit, "ANNA10"), email("anna@example.org"), paid)
	require.Equal(t, "PENDING/PENDING, PENDING/PENDING", b.statuses(t, "pending"))
	require.Equal(t, "A", b.fuelCode(t, "pending"))
	b.identify(t, "denied", claim(referral.SourceInit, "ANNA10"), email("x@mailinator.com"), paid)
	require.Empty(t, b.fuelCode(t, "denied"))
	b.moderate(t, "denied", referral.Approve)
	require.Equal(t, "B", b.fuelCode(t, "denied"))

	b.identify(t, "due", claim(referral.SourceInit, "ANNA10"), paid)
	b.moderate(t, "due", referral.DenyReferrer)
	require.Equal(t, reward.Tank{Available: 1, Given: 2}, b.fuel(t, "C"), "no reward waits for a code")
	b.moderate(t, "due", referral.ApproveReferrer, referral.DenyReferrer, referral.ApproveReferrer)
	require.Equal(t, "C", b.fuelCode(t, "due"))
}

// A reward that waits for a code counts towards the program's limits.
func TestFuelTank_AndLimits(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.tank(t, func(p *referral.Program) { p.Limits.Total = 2 })
	for i := range 4 {
		b.identify(t, fmt.Sprint("f", i), claim(referral.SourceInit, "ANNA10"), paid)
	}
	require.Equal(t, reward.Tank{Available: 1, Given: 2}, b.fuel(t, "A", "B", "C"))
	require.Equal(t, []string{"A", "B", "", ""}, []string{b.fuelCode(t, "f0"), b.fuelCode(t, "f1"), b.fuelCode(t, "f2"), b.fuelCode(t, "f3")})
}

// If a program changes its offer, rewards that wait for a code become the new offer.
func TestFuelTank_ProgramOffersAnotherReward(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.tank(t)
	b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"), paid)
	require.Nil(t, b.referral(t, "friend").ReferrerReward)
	_, err := b.Programs.Update(t.Context(), b.tenant, core.ClassicProgram, func(p *referral.Program) error {
		p.Referrer = reward.Offer{Kind: reward.Credit, Amount: 7, Currency: "USD"}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, int64(7), b.referral(t, "friend").ReferrerReward.Offer.Amount)
}

// In concurrent conversions and fills each code is given once, and each referral gets a
// code.
func TestFuelTank_ManyAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.tank(t)
		for _, err := range concurrently(func(i int) error {
			if i%4 == 0 {
				codes := []string{fmt.Sprint("A", i), fmt.Sprint("B", i), fmt.Sprint("C", i), "SAME"}
				_, err := b.FuelTanks.Fill(t.Context(), b.tenant, core.ClassicProgram, referral.ReferrerSide, codes)
				return err
			}
			_, err := b.Identification.Identify(t.Context(), b.tenant, identification(fmt.Sprint("friend", i), claim(referral.SourceInit, "ANNA10"), paid))
			return err
		}) {
			require.NoError(t, err)
		}
		seen := map[string]bool{}
		for i := range callersAtOnce {
			if i%4 == 0 {
				continue
			}
			code := b.fuelCode(t, fmt.Sprint("friend", i))
			require.NotEmpty(t, code)
			require.False(t, seen[code], "%s was given twice", code)
			seen[code] = true
		}
		tank, err := b.FuelTanks.Level(t.Context(), b.tenant, core.ClassicProgram, referral.ReferrerSide)
		require.NoError(t, err)
		require.Equal(t, reward.Tank{Available: 1, Given: 48}, tank)
	})
}
