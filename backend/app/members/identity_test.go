package members_test

import (
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
	"kith/backend/app/members"
	"kith/backend/store/peopledb"
	"kith/core"
	"kith/core/operation"
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
		owner, err := signIn(b.account("s1", "owner"))
		require.NoError(t, err)
		require.Equal(t, b.address("owner"), owner)
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
		_, _, err = b.members.Invite(ctx, people.OperatorOf(b.tenant), b.address("ann"), "manager")
		require.NoError(t, err)
		_, err = signIn(b.account("s3", "ann"))
		require.NoError(t, err)
		ann, err := b.members.ByEmail(ctx, people.OperatorOf(b.tenant), b.address("ann"))
		require.NoError(t, err)
		require.Equal(t, []any{people.Manager, "Person s3"}, []any{ann.Role, ann.Name})
		_, open, err := b.members.List(ctx, people.OperatorOf(b.tenant))
		require.NoError(t, err)
		require.Empty(t, open)
		require.Subset(t, b.actions(t, b.tenant), []string{
			"ann member.joined ann {\"invitedBy\":\"command line\",\"role\":\"manager\"}",
			"ann person.identity_added ann {\"issuer\":\"https://id." + b.name + ".example\"}",
			"ann person.signed_in ann ",
		})
		// Who is removed does not come back by the provider.
		require.NoError(t, b.members.Remove(ctx, people.OperatorOf(b.tenant), ann.Person))
		_, err = signIn(b.account("s3", "ann"))
		require.ErrorContains(t, err, "ask an owner")
	})
}

// TestSignInAs_WithTwoSteps: the second step that a person has set since the address is
// proven is asked for after a provider, too.
func TestSignInAs_WithTwoSteps(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		first, _, err := b.members.SignInAs(t.Context(), visitor, b.account("s1", "owner"))
		require.NoError(t, err)
		b.enableTOTP(t, b.seat(t, first))
		token, stage, err := b.members.SignInAs(t.Context(), visitor, b.account("s1", "owner"))
		require.NoError(t, err)
		require.Equal(t, people.SecondFactor, stage)
		require.False(t, b.seat(t, token).SignedIn())
	})
}

// What the reader of an invitation has set for an address is void once its owner comes by
// the provider, and gives no access to other tenants before.
func TestSignInAs_TakesTheAddressBack(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		shop := b.tenant + "-shop"
		b.addTenant(t, shop)
		_, link, err := b.members.Invite(ctx, people.KeyHolder(b.tenant, "crm", ""), b.address("ceo"), "manager")
		require.NoError(t, err)
		stolen, err := b.members.Accept(ctx, visitor, link, "Mallory", "mallory has the link")
		require.NoError(t, err)
		b.enableTOTP(t, b.seat(t, stolen))
		// The address has another password in the other tenant, which says nothing of this one.
		_, link, err = b.members.Invite(ctx, people.OperatorOf(shop), b.address("ceo"), "owner")
		require.NoError(t, err)
		own, err := b.members.Accept(ctx, visitor, link, "Chris", "chris has another one")
		require.NoError(t, err)
		require.NotEqual(t, b.seat(t, stolen).Person.ID, b.seat(t, own).Person.ID)
		for token, tenants := range map[string][]core.TenantAlias{stolen: {b.tenant}, own: {shop}} {
			all, err := b.signIns.Tenants(ctx, b.seat(t, token))
			require.NoError(t, err)
			require.Len(t, all, 1)
			require.Equal(t, tenants[0], all[0].Tenant)
		}
		again, stage, err := b.signIns.SignIn(ctx, visitor, b.address("ceo"), "chris has another one")
		require.NoError(t, err)
		require.Equal(t, people.SignedIn, stage)
		require.Equal(t, b.seat(t, own).Person.ID, b.seat(t, again).Person.ID)

		token, stage, err := b.members.SignInAs(ctx, visitor, b.account("s1", "ceo"))
		require.NoError(t, err)
		require.Equal(t, people.SignedIn, stage, "the second step was of the stranger")
		chris := b.seat(t, token)
		require.NotZero(t, chris.Person.Proven)
		all, err := b.signIns.Tenants(ctx, chris)
		require.NoError(t, err)
		require.Len(t, all, 2)
		for _, gone := range []string{stolen, own, again} {
			_, ok, err := b.signIns.Find(ctx, gone)
			require.NoError(t, err)
			require.False(t, ok)
		}
		for _, wrong := range []string{"mallory has the link", "chris has another one"} {
			_, _, err = b.signIns.SignIn(ctx, visitor, b.address("ceo"), wrong)
			requireCode(t, core.CodeUnauthenticated, "password", err)
		}
		require.Contains(t, b.actions(t, shop), `ceo person.identity_added ceo {"earlierSignInsVoid":true,"issuer":"https://id.`+b.name+`.example"}`)

		// A link that is read later opens its own tenant only, until the person comes again.
		third := b.tenant + "-third"
		b.addTenant(t, third)
		_, link, err = b.members.Invite(ctx, people.KeyHolder(third, "crm", ""), b.address("ceo"), "viewer")
		require.NoError(t, err)
		stolen, err = b.members.Accept(ctx, visitor, link, "", "mallory has the link")
		require.NoError(t, err)
		all, err = b.signIns.Tenants(ctx, b.seat(t, stolen))
		require.NoError(t, err)
		require.Len(t, all, 1)
		_, _, err = b.members.SignInAs(ctx, visitor, b.account("s1", "ceo"))
		require.NoError(t, err)
		_, ok, err := b.signIns.Find(ctx, stolen)
		require.NoError(t, err)
		require.False(t, ok)
		_, err = b.signIns.As(ctx, visitor, chris, third)
		require.NoError(t, err)

		// Another account of the provider with the address opens nothing but what it is
		// invited to, after the first is removed there.
		_, _, err = b.members.SignInAs(ctx, visitor, b.account("s2", "ceo"))
		requireCode(t, core.CodeForbidden, "", err)
		_, err = b.members.Create(ctx, people.OperatorOf(shop), b.address("second"), "", password, people.Owner)
		require.NoError(t, err)
		require.NoError(t, b.members.Remove(ctx, people.OperatorOf(shop), chris.Person.ID))
		_, _, err = b.members.Invite(ctx, people.OperatorOf(shop), b.address("ceo"), "viewer")
		require.NoError(t, err)
		token, _, err = b.members.SignInAs(ctx, visitor, b.account("s2", "ceo"))
		require.NoError(t, err)
		all, err = b.signIns.Tenants(ctx, b.seat(t, token))
		require.NoError(t, err)
		require.Equal(t, []peopledb.Membership{{Tenant: shop, Role: people.Viewer, InvitedBy: people.Operator}}, all)
		_, _, err = b.members.SignInAs(ctx, visitor, b.account("s1", "ceo"))
		require.NoError(t, err)
		all, err = b.signIns.Tenants(ctx, b.seat(t, token))
		require.NoError(t, err)
		require.Len(t, all, 1, "people with proven addresses leave each other alone")
	})
}

// Who acts under an address that is not proven, and whom an API key has invited, is
// recognized in the audit log.
func TestAudit_NamesTheInviter(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		key := people.KeyHolder(b.tenant, "crm", "")
		ben := b.add(t, "ben", people.Manager)
		require.NoError(t, b.members.Remove(ctx, key, ben))
		_, link, err := b.members.Invite(ctx, key, b.address("ben"), "manager")
		require.NoError(t, err)
		token, err := b.members.Accept(ctx, visitor, link, "Ben", password)
		require.NoError(t, err)
		inviters := func() map[people.Action]string {
			page, _, err := b.audits.Page(ctx, people.OperatorOf(b.tenant), people.AuditFilter{Actor: "ben@"})
			require.NoError(t, err)
			by := map[people.Action]string{}
			for _, e := range slices.Backward(page) {
				by[e.Action] = e.InvitedBy
			}
			return by
		}
		c, err := b.signIns.As(ctx, visitor, b.seat(t, token), b.tenant)
		require.NoError(t, err)
		_, err = b.audits.Export(ctx, c, people.AuditFilter{}, people.AuditCSV, nil, io.Discard)
		require.NoError(t, err)
		require.Equal(t, map[people.Action]string{operation.AddMember.Action: "API key crm", operation.SignIn.Action: "API key crm", operation.ExportAudit.Action: "API key crm"}, inviters())
		token, _, err = b.members.SignInAs(ctx, visitor, b.account("s1", "ben"))
		require.NoError(t, err)
		b.seat(t, token)
		require.Empty(t, inviters()[operation.AddIdentity.Action])
		require.Empty(t, inviters()[operation.SignIn.Action])
	})
}

// People with the same address do not give each other attempts to guess a password, and an
// invitation is no way around the limit.
func TestSignIn_AttemptsOnASharedAddress(t *testing.T) {
	t.Parallel()
	b := onFile(t)
	ctx := t.Context()
	second := b.tenant + "-b"
	b.addTenant(t, second)
	_, link, err := b.members.Invite(ctx, people.OperatorOf(second), b.address("owner"), "viewer")
	require.NoError(t, err)
	_, err = b.members.Accept(ctx, visitor, link, "", password)
	requireCode(t, core.CodeConflict, "password", err)
	_, err = b.members.Accept(ctx, visitor, link, "", "mallory has the link")
	require.NoError(t, err)
	// Neither by a new password.
	mallory, _, err := b.signIns.SignIn(ctx, visitor, b.address("owner"), "mallory has the link")
	require.NoError(t, err)
	requireCode(t, core.CodeConflict, "new", b.profiles.ChangePassword(ctx, visitor, b.seat(t, mallory), "mallory has the link", password))
	for range 9 {
		_, _, err = b.signIns.SignIn(ctx, visitor, b.address("owner"), "a guess at the other")
		requireCode(t, core.CodeUnauthenticated, "password", err)
		_, _, err = b.signIns.SignIn(ctx, visitor, b.address("owner"), "mallory has the link")
		if err != nil {
			break
		}
	}
	_, _, err = b.signIns.SignIn(ctx, visitor, b.address("owner"), password)
	requireCode(t, core.CodeRateLimited, "", err)
	// The operator chooses one of both by tenant.
	_, _, err = b.resets.MakeLink(ctx, b.address("owner"), "", false)
	requireCode(t, core.CodeConflict, "tenant", err)
	_, _, err = b.resets.MakeLink(ctx, b.address("owner"), "elsewhere", false)
	requireCode(t, core.CodeNotFound, "", err)
	reset, _, err := b.resets.MakeLink(ctx, b.address("owner"), base.TestPrefix+b.tenant, false)
	require.NoError(t, err)
	require.NoError(t, b.resets.Reset(ctx, visitor, reset, "a password of the first"))
	b.pass(core.Hour)
	token, _, err := b.signIns.SignIn(ctx, visitor, b.address("owner"), "a password of the first")
	require.NoError(t, err)
	_, err = b.signIns.As(ctx, visitor, b.seat(t, token), b.tenant)
	require.NoError(t, err)
}
