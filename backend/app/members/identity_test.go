package members_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/members"
	"kith/core"
	"kith/core/people"
)

// account returns what an identity provider says of a person.
func (b *bundle) account(subject, local string) members.Identity {
	return members.Identity{Issuer: "https://id." + b.name + ".example", Subject: subject, Email: b.address(local), Verified: true, Name: "Person " + subject}
}

// An account is the person with its verified address at first, and the same person ever
// after, whatever its address becomes. It joins all tenants that have invited the address.
func TestSignInAs(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		signIn := func(i members.Identity) (string, error) {
			token, _, err := b.members.SignInAs(ctx, visitor, i)
			if err != nil {
				return "", err
			}
			return b.seat(t, token).Person.Email, nil
		}
		// An existing person keeps the password, too.
		owner, err := signIn(b.account("s1", "owner"))
		require.NoError(t, err)
		require.Equal(t, b.address("owner"), owner)
		b.signIn(t, "owner")
		// The account decides now: the address of another person does not change that.
		b.add(t, "other", people.Viewer)
		owner, err = signIn(b.account("s1", "other"))
		require.NoError(t, err)
		require.Equal(t, b.address("owner"), owner)
		// An address that the provider has not verified, or that no owner has invited.
		unverified := b.account("s2", "other")
		unverified.Verified = false
		for wrong, text := range map[members.Identity]string{
			unverified: "has not verified", b.account("s2", "stranger"): "ask an owner of your tenant to invite it",
			b.account("", "owner"): "no usable account", {Issuer: "https://id.example", Subject: "s2", Email: "x", Verified: true}: "has not verified",
		} {
			_, err = signIn(wrong)
			var known *core.Error
			require.ErrorAs(t, err, &known)
			require.Equal(t, core.CodeForbidden, known.Code)
			require.ErrorContains(t, err, text)
		}
		// An invited address joins, and the invitation is used up.
		_, _, err = b.members.Invite(ctx, members.OperatorOf(b.tenant), b.address("ann"), "manager")
		require.NoError(t, err)
		_, err = signIn(b.account("s3", "ann"))
		require.NoError(t, err)
		ann, err := b.members.ByEmail(ctx, members.OperatorOf(b.tenant), b.address("ann"))
		require.NoError(t, err)
		require.Equal(t, []any{people.Manager, "Person s3"}, []any{ann.Role, ann.Name})
		_, open, err := b.members.List(ctx, members.OperatorOf(b.tenant))
		require.NoError(t, err)
		require.Empty(t, open)
		require.Subset(t, b.actions(t, b.tenant), []string{
			"ann member.joined ann {\"invitedBy\":\"command line\",\"role\":\"manager\"}",
			"ann person.identity_added ann {\"issuer\":\"https://id." + b.name + ".example\"}",
			"ann person.signed_in ann ",
		})
		// Who is removed does not come back by the provider.
		require.NoError(t, b.members.Remove(ctx, members.OperatorOf(b.tenant), ann.Person))
		_, err = signIn(b.account("s3", "ann"))
		require.ErrorContains(t, err, "ask an owner")
	})
}

// The second step of a person is asked for after a provider, too.
func TestSignInAs_WithTwoSteps(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		_, s := b.signIn(t, "owner")
		b.enableTOTP(t, s)
		token, stage, err := b.members.SignInAs(t.Context(), visitor, b.account("s1", "owner"))
		require.NoError(t, err)
		require.Equal(t, people.SecondFactor, stage)
		require.False(t, b.seat(t, token).SignedIn())
	})
}
