package members_test

import (
	"context"
	"net/netip"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/members"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
)

// wrong sends a wrong password.
func (b *bundle) wrong(t *testing.T, v members.Visitor, local string) error {
	t.Helper()
	_, _, err := b.signIns.SignIn(t.Context(), v, b.address(local), "not the right one")
	require.Error(t, err)
	return err
}

// lockOut sends wrong passwords for an address from the network of visitor, until each from
// there is refused.
func (b *bundle) lockOut(t *testing.T, local string) {
	t.Helper()
	for range 10 {
		_ = b.wrong(t, visitor, local)
	}
	requireCode(t, core.CodeRateLimited, "", b.wrong(t, visitor, local))
}

// network returns a visitor of the network with a number.
func network(n int) members.Visitor {
	return members.Visitor{Address: netip.MustParseAddr("203." + strconv.Itoa(n) + ".113.9")}
}

// withDevice returns a visitor whose browser keeps what a sign-in gave it.
func (b *bundle) withDevice(t *testing.T, s members.Seat) members.Visitor {
	t.Helper()
	device, err := b.signIns.NewDevice(visitor, s)
	require.NoError(t, err)
	require.NotEmpty(t, device)
	v := visitor
	v.Device = device
	again, err := b.signIns.NewDevice(v, s)
	require.NoError(t, err)
	require.Empty(t, again, "the browser has one")
	return v
}

// Attempts of others do not lock a person out of a browser in which the person has signed
// in before, at either step.
func TestDevice_IsNotLockedOut(t *testing.T) {
	t.Parallel()
	b := onFile(t)
	token, s := b.signIn(t, "owner")
	secret, _ := b.enableTOTP(t, s)
	mine := b.withDevice(t, b.seat(t, token))
	for i := range 100 {
		requireCode(t, core.CodeUnauthenticated, "password", b.wrong(t, network(i), "owner"))
	}
	_, _, err := b.signIns.SignIn(t.Context(), network(201), b.address("owner"), password)
	requireCode(t, core.CodeRateLimited, "", err)

	b.pass(core.Minute)
	requireCode(t, core.CodeUnauthenticated, "password", b.wrong(t, mine, "owner"))
	waiting, stage, err := b.signIns.SignIn(t.Context(), mine, b.address("owner"), password)
	require.NoError(t, err)
	require.Equal(t, people.SecondFactor, stage)
	_, err = b.signIns.Enter(t.Context(), mine, b.seat(t, waiting), "000000")
	requireCode(t, core.CodeInvalid, "code", err)
	_, err = b.signIns.Enter(t.Context(), mine, b.seat(t, waiting), b.code(secret))
	require.NoError(t, err)

	b.pass(people.DeviceLife)
	b.lockOut(t, "owner")
	_, _, err = b.signIns.SignIn(t.Context(), mine, b.address("owner"), password)
	requireCode(t, core.CodeRateLimited, "", err) // the browser was recognised for too long
}

// A browser gives attempts on one person only, and few.
func TestDevice_GivesFewAttempts(t *testing.T) {
	t.Parallel()
	b := onFile(t)
	b.add(t, "other", people.Viewer)
	_, s := b.signIn(t, "owner")
	mine := b.withDevice(t, s)
	b.lockOut(t, "other")
	requireCode(t, core.CodeRateLimited, "", b.wrong(t, mine, "other"))
	b.pass(core.Minute) // the limit of the network
	changed := mine
	if changed.Device = "A" + mine.Device[1:]; changed.Device == mine.Device {
		changed.Device = "B" + mine.Device[1:]
	}
	b.lockOut(t, "owner")
	requireCode(t, core.CodeRateLimited, "", b.wrong(t, changed, "owner"))
	for range 10 {
		requireCode(t, core.CodeUnauthenticated, "password", b.wrong(t, mine, "owner"))
	}
	requireCode(t, core.CodeRateLimited, "", b.wrong(t, b.withDevice(t, s), "owner")) // a session gets any number of them
	b.pass(core.Hour)
	require.NoError(t, b.profiles.ChangePassword(t.Context(), visitor, s, password, "another long password 7"))
	b.lockOut(t, "owner")
	requireCode(t, core.CodeRateLimited, "", b.wrong(t, mine, "owner"))
}

// The browser of a person gives no attempts on another person with the same address, such as
// one whom an attacker invited to a tenant of theirs.
func TestDevice_GivesNoAttemptsOnANamesake(t *testing.T) {
	t.Parallel()
	b := onFile(t)
	other := core.TenantAlias(string(b.tenant) + "x")
	b.addTenant(t, other)
	_, link, err := b.members.Invite(t.Context(), people.OperatorOf(other), b.address("owner"), "viewer")
	require.NoError(t, err)
	token, err := b.members.Accept(t.Context(), visitor, link, "Mallory", "another long password 7")
	require.NoError(t, err)
	theirs := b.withDevice(t, b.seat(t, token))
	b.lockOut(t, "owner")
	_, _, err = b.signIns.SignIn(t.Context(), theirs, b.address("owner"), password)
	requireCode(t, core.CodeRateLimited, "", err)
	_, _, err = b.signIns.SignIn(t.Context(), theirs, b.address("owner"), "another long password 7")
	require.NoError(t, err)
}

// Many sign-ins that wait for a code, which need the password only, end no session.
func TestSession_WaitingOnesEndNone(t *testing.T) {
	t.Parallel()
	b := onFile(t)
	token, s := b.signIn(t, "owner")
	b.enableTOTP(t, s)
	for range people.MaxSessions + 5 {
		b.pass(core.Second)
		_, stage, err := b.signIns.SignIn(t.Context(), visitor, b.address("owner"), password)
		require.NoError(t, err)
		require.Equal(t, people.SecondFactor, stage)
	}
	b.seat(t, token)
}

// Members are invited and changed, and owners removed, with a recent password only. Other
// members are removed, and invitations revoked, without.
func TestOwners_NeedARecentPassword(t *testing.T) {
	t.Parallel()
	b := onFile(t)
	ctx := t.Context()
	boss, ben := b.add(t, "boss", people.Owner), b.add(t, "ben", people.Viewer)
	token, _ := b.signIn(t, "owner")
	b.pass(people.ConfirmLife)
	c, err := b.signIns.As(ctx, visitor, b.seat(t, token), b.tenant)
	require.NoError(t, err)
	open, _, err := b.members.Invite(ctx, people.OperatorOf(b.tenant), b.address("open"), "owner")
	require.NoError(t, err)
	carl := b.add(t, "carl", people.Viewer)
	for _, call := range map[string]func() error{
		"invite a viewer": func() error { _, _, err := b.members.Invite(ctx, c, b.address("new"), "viewer"); return err },
		"change":          func() error { return b.members.ChangeRole(ctx, c, ben, "manager") },
		"invite":          func() error { _, _, err := b.members.Invite(ctx, c, b.address("new"), "owner"); return err },
		"promote":         func() error { return b.members.ChangeRole(ctx, c, ben, "owner") },
		"demote":          func() error { return b.members.ChangeRole(ctx, c, boss, "viewer") },
		"remove":          func() error { return b.members.Remove(ctx, c, boss) },
		"second step":     func() error { return b.members.RequireSecondStep(ctx, c, true) },
	} {
		requireCode(t, core.CodeForbidden, "password", call())
	}
	require.NoError(t, b.members.Remove(ctx, c, carl))
	require.NoError(t, b.members.RevokeInvitation(ctx, c, open.ID))
	require.NoError(t, b.signIns.Confirm(ctx, visitor, b.seat(t, token), password))
	c, err = b.signIns.As(ctx, visitor, b.seat(t, token), b.tenant)
	require.NoError(t, err)
	require.NoError(t, b.members.ChangeRole(ctx, c, ben, "owner"))
	require.NoError(t, b.members.Remove(ctx, c, boss))
}

// A tenant that requires two-step sign-in shows itself to members who have it, and to those
// without a password.
func TestSecondStep_IsRequired(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		b.add(t, "ben", people.Viewer)
		_, bens := b.signIn(t, "ben")
		token, _ := b.signIn(t, "owner")
		as := func(local members.Seat, tenant core.TenantAlias) error {
			_, err := b.signIns.As(ctx, visitor, local, tenant)
			return err
		}
		owner, err := b.signIns.As(ctx, visitor, b.seat(t, token), b.tenant)
		require.NoError(t, err)
		requireCode(t, core.CodeInvalid, "second-step", b.members.RequireSecondStep(ctx, owner, true))
		b.enableTOTP(t, b.seat(t, token))
		require.NoError(t, b.members.RequireSecondStep(ctx, owner, true))
		require.Contains(t, b.actions(t, b.tenant), `owner tenant.changed  {"secondStep":false}{"secondStep":true}`)
		for _, tenant := range []core.TenantAlias{b.tenant, "test_" + b.tenant} {
			require.ErrorIs(t, as(bens, tenant), members.ErrSecondStep)
			require.NoError(t, as(b.seat(t, token), tenant))
		}
		bens.Person.Password = "" // the person signs in at an identity provider
		require.NoError(t, as(bens, b.tenant))
		require.NoError(t, b.members.RequireSecondStep(ctx, owner, false))
		_, bens = b.signIn(t, "ben")
		require.NoError(t, as(bens, b.tenant))
	})
}

// A person cannot turn the second step off that a tenant requires. New recovery codes are
// made a few times an hour, and many of them hide no other notice.
func TestSecondStep_StaysOn(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		token, s := b.signIn(t, "owner")
		b.pass(core.Minute)
		require.NoError(t, b.profiles.ChangePassword(ctx, visitor, s, password, "another long password 7"))
		s = b.seat(t, token)
		b.enableTOTP(t, s)
		owner, err := b.signIns.As(ctx, visitor, b.seat(t, token), b.tenant)
		require.NoError(t, err)
		require.NoError(t, b.members.RequireSecondStep(ctx, owner, true))
		s = b.seat(t, token)
		err = b.profiles.DisableTOTP(ctx, visitor, s)
		requireCode(t, core.CodeConflict, "", err)
		require.Contains(t, err.Error(), string(b.tenant)+" requires it of its members")
		renewed := 0
		for range 30 {
			b.pass(core.Second)
			if _, err := b.profiles.RenewRecovery(ctx, visitor, s); err == nil {
				renewed++
			} else {
				requireCode(t, core.CodeRateLimited, "", err)
			}
		}
		require.Equal(t, 5, renewed)
		require.NoError(t, b.members.RequireSecondStep(ctx, owner, false))
		require.NoError(t, b.profiles.DisableTOTP(ctx, visitor, s))
		require.ElementsMatch(t, []people.Action{operation.ChangePassword.Action, operation.EnableTOTP.Action, operation.DisableTOTP.Action, operation.RenewRecoveryCodes.Action}, b.noticed(t, s, b.profiles.Notices))
		all, err := b.profiles.Notices(ctx, s)
		require.NoError(t, err)
		for _, n := range all {
			require.Equal(t, map[bool]int{true: 5, false: 1}[n.Action == operation.RenewRecoveryCodes.Action], n.Times, n.Action)
		}
	})
}

// A person whose password or second step was changed sees it after the next sign-in, and in
// the profile.
func TestNotices(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		_, thief := b.signIn(t, "owner")
		b.pass(core.Minute)
		elsewhere := members.Visitor{Address: netip.MustParseAddr("192.0.2.66")}
		require.NoError(t, b.profiles.ChangePassword(ctx, elsewhere, thief, password, "another long password 7"))
		b.pass(core.Minute)
		link, _, err := b.resets.MakeLink(ctx, b.address("owner"), b.tenant, false)
		require.NoError(t, err)
		require.NoError(t, b.resets.Reset(ctx, visitor, link, password))
		b.pass(core.Hour)
		token, s := b.signIn(t, "owner")
		want := []people.Action{operation.MakeResetLink.Action, operation.ResetPassword.Action, operation.ChangePassword.Action}
		require.ElementsMatch(t, want, b.noticed(t, s, b.profiles.News))
		b.pass(people.FailuresShown)
		s = b.seat(t, token)
		require.Empty(t, b.noticed(t, s, b.profiles.News))
		require.ElementsMatch(t, want, b.noticed(t, s, b.profiles.Notices))
		all, err := b.profiles.Notices(ctx, s)
		require.NoError(t, err)
		require.Equal(t, "192.0.2.66", all[2].From)
		require.Equal(t, people.Operator, map[people.Action]string{all[0].Action: all[0].Actor, all[1].Action: all[1].Actor}[operation.MakeResetLink.Action])

		b.pass(people.NoticesShown)
		_, s = b.signIn(t, "owner")
		require.Empty(t, b.noticed(t, s, b.profiles.News), "seen before")
		b.pass(people.NoticesListed)
		_, s = b.signIn(t, "owner")
		require.Empty(t, b.noticed(t, s, b.profiles.Notices))
	})
}

// noticed returns the actions of notices.
func (b *bundle) noticed(t *testing.T, s members.Seat, find func(context.Context, members.Seat) ([]people.Notice, error)) (all []people.Action) {
	t.Helper()
	notices, err := find(t.Context(), s)
	require.NoError(t, err)
	for _, n := range notices {
		all = append(all, n.Action)
	}
	return all
}
