package portaltest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core"
	"kith/core/referral"
	"kith/core/rules"
)

// Identify adds or changes a user of acme. The mail address is that of the user's id in
// the domain shop.example.
func (w *World) Identify(t testing.TB, account core.AccountID, user core.UserID, change ...func(*rules.Identification)) {
	t.Helper()
	email := strings.ToLower(strings.NewReplacer("/", "-", " ", "-").Replace(string(user))) + "@shop.example"
	in := rules.Identification{Update: referral.UserUpdate{Account: account, ID: user, Email: &email}, Server: true}
	for _, c := range change {
		c(&in)
	}
	_, err := w.Engine.Identification.Identify(t.Context(), "acme", in)
	require.NoError(t, err)
}

// Named gives a user a name.
func Named(first, last string) func(*rules.Identification) {
	return func(in *rules.Identification) { in.Update.FirstName, in.Update.LastName = &first, &last }
}

// Owns gives a user a code.
func Owns(code core.ReferralCode) func(*rules.Identification) {
	return func(in *rules.Identification) {
		in.Update.Codes = []referral.UserCode{{Program: core.ClassicProgram, Code: code}}
	}
}

// By claims that a code referred the user.
func By(code core.ReferralCode) func(*rules.Identification) {
	return func(in *rules.Identification) {
		in.Update.Claims = []referral.Claim{{Code: code, Source: referral.SourceReferredBy}}
	}
}

// Paid makes the user's account a paying one.
func Paid(in *rules.Identification) {
	status := referral.Paid
	in.Update.Status = &status
}
