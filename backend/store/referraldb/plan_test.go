package referraldb

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqltest"
	"kith/core"
	"kith/core/referral"
)

// A page of a search is read from an index in the order of the list, whatever the filter:
// nothing is sorted. For a person, the index has the person's referrals.
func TestSearch_IsNotSorted(t *testing.T) {
	t.Parallel()
	explained := sqltest.Explained{DB: sqltest.File(t), T: t}
	before := referral.Position{Started: 7, ID: "r"}
	for _, s := range []referral.Search{
		{}, {Before: before}, {Started: core.Span{From: 1, Before: 2}, Before: before},
		{Code: "A", Program: "p", Situation: referral.SituationConverted}, {Program: "p", Before: before},
		{Situation: referral.SituationConverted, Before: before}, {Situation: referral.SituationOpen, Moderation: referral.SideApproved, Before: before},
		{Situation: referral.SituationEnded, Before: before}, {Moderation: referral.SidePending, Situation: referral.SituationEnded, Before: before},
		{Moderation: referral.SideDenied, Program: "p", Before: before},
	} {
		query, args := searchOf("t", s, nil, 2)
		steps := explained.Plan(query, args)
		require.Contains(t, steps[0], "SEARCH r USING", "%+v", s)
		for _, step := range steps {
			require.NotContains(t, step, "TEMP B-TREE", "%+v: %v", s, steps)
			require.NotContains(t, step, "SCAN", "%+v: %v", s, steps)
		}
		if s.Before == before {
			require.Contains(t, steps[0], "started_at", "%+v: the page before is not read", s)
		}
	}
	query, args := searchOf("t", referral.Search{Person: "ann", Before: before, Program: "p"}, []referral.Identity{{Account: "a", User: "b"}}, 2)
	steps := strings.Join(explained.Plan(query, args), "\n")
	require.Contains(t, steps, "SEARCH r USING INDEX referral_referrer (tenant=? AND referrer_account_id=? AND referrer_user_id=?")
	require.Contains(t, steps, "(tenant=? AND referred_account_id=?)")
	require.NotContains(t, steps, "SCAN m")
	require.NotContains(t, steps, "SCAN r")
}
