package members_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
	"kith/backend/app/members"
	"kith/backend/store"
	"kith/backend/store/peopledb"
	"kith/backend/store/sqldtest"
	"kith/backend/store/storetest"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/operation"
	"kith/core/people"
)

func TestMain(m *testing.M) { sqldtest.Main(m) }

const (
	start    core.Time = 1_700_000_000_000
	password           = "correct horse battery"
)

// bundle has the use cases with a tenant that has a test tenant, and one owner.
type bundle struct {
	*base.Base
	signIns  members.SignIns
	profiles members.Profiles
	members  members.Members
	resets   members.Resets
	audits   members.Audits
	tenant   core.TenantAlias
	clock    *atomic.Int64
	// name makes the addresses of a test unique on the shared server.
	name string
}

func (b *bundle) pass(d core.Time) { b.clock.Add(int64(d)) }

// address returns an address of this test.
func (b *bundle) address(local string) string { return local + "@" + b.name + ".example" }

var tenantCount atomic.Int64

func on(t *testing.T, db *store.Primary) *bundle {
	t.Helper()
	n := strconv.FormatInt(tenantCount.Add(1), 10)
	b := &bundle{tenant: core.TenantAlias("tenant" + n), name: "t" + n, clock: new(atomic.Int64)}
	b.clock.Store(int64(start))
	keys, err := auth.ParseKeyring(strings.Repeat("a", 64))
	require.NoError(t, err)
	b.Base = &base.Base{
		DB: db, Keys: keys,
		Now:     func() core.Time { return core.Time(b.clock.Load()) },
		Entropy: func(p []byte) { _, _ = rand.Read(p) },
	}
	b.signIns = members.SignIns{Base: b.Base, Passwords: members.NewPasswords(b.Entropy), Limits: members.NewLimits(b.Now), Sessions: people.DefaultSessionLimits()}
	b.signIns.Passwords.MakeCheap()
	b.profiles = members.Profiles{Base: b.Base, SignIns: &b.signIns}
	b.members = members.Members{Base: b.Base, SignIns: &b.signIns}
	b.resets = members.Resets{Base: b.Base, SignIns: &b.signIns}
	b.audits = members.Audits{Base: b.Base}
	b.addTenant(t, b.tenant)
	b.addTenant(t, base.TestPrefix+b.tenant)
	b.add(t, "owner", people.Owner)
	return b
}

func (b *bundle) addTenant(t *testing.T, alias core.TenantAlias) {
	t.Helper()
	require.NoError(t, b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) error {
		added, err := tenantdb.Insert(t.Context(), tx, tenantdb.Tenant{Alias: alias, DiscountID: "d", Policy: link.Policy{Consent: link.ConsentOff}, Created: tx.Now})
		require.True(t, added || err != nil)
		return err
	}))
}

// add makes a member by the command line.
func (b *bundle) add(t *testing.T, local string, role people.Role) people.PersonID {
	t.Helper()
	created, err := b.members.Create(t.Context(), people.OperatorOf(b.tenant), b.address(local), local, password, role)
	require.NoError(t, err)
	require.True(t, created)
	m, err := b.members.ByEmail(t.Context(), people.OperatorOf(b.tenant), b.address(local))
	require.NoError(t, err)
	return m.Person
}

var visitor = members.Visitor{Address: netip.MustParseAddr("198.51.100.7"), Agent: "Browser"}

// signIn signs a person in who has one step.
func (b *bundle) signIn(t *testing.T, local string) (string, members.Seat) {
	t.Helper()
	token, stage, err := b.signIns.SignIn(t.Context(), visitor, b.address(local), password)
	require.NoError(t, err)
	require.Equal(t, people.SignedIn, stage)
	return token, b.seat(t, token)
}

// seat returns a valid session, which is used in the tenant, if it may be.
func (b *bundle) seat(t *testing.T, token string) members.Seat {
	t.Helper()
	s, ok, err := b.signIns.Find(t.Context(), token)
	require.NoError(t, err)
	require.True(t, ok)
	if _, err := b.signIns.As(t.Context(), visitor, s, b.tenant); err == nil {
		s, _, err = b.signIns.Find(t.Context(), token)
		require.NoError(t, err)
	}
	return s
}

// as returns a signed-in member as a caller.
func (b *bundle) as(t *testing.T, local string, tenant core.TenantAlias) people.Caller {
	t.Helper()
	_, s := b.signIn(t, local)
	c, err := b.signIns.As(t.Context(), visitor, s, tenant)
	require.NoError(t, err)
	return c
}

// actions returns the actions in the audit log of a tenant, oldest first, with actor and
// subject.
func (b *bundle) actions(t *testing.T, tenant core.TenantAlias) (all []string) {
	t.Helper()
	page, _, err := b.audits.Page(t.Context(), people.OperatorOf(tenant), people.AuditFilter{})
	require.NoError(t, err)
	for _, e := range slices.Backward(page) {
		all = append(all, strings.ReplaceAll(e.Actor+" "+string(e.Action)+" "+e.Subject+" "+e.Before+e.After, "@"+b.name+".example", ""))
	}
	return all
}

var server struct {
	sync.Once
	db  *store.Primary
	err error
}

// everywhere runs a test on an embedded file and on a libSQL server.
func everywhere(t *testing.T, test func(*testing.T, *bundle)) {
	t.Parallel()
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		test(t, onFile(t))
	})
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		url := sqldtest.Shared(t).PrimaryURL()
		server.Do(func() {
			if server.db, server.err = store.Open(url, ""); server.err == nil {
				server.db.SetTimeout(sqldtest.Deadline)
				server.err = server.db.Migrate(context.Background(), start)
			}
		})
		require.NoError(t, server.err)
		test(t, on(t, server.db))
	})
}

func onFile(t *testing.T) *bundle {
	t.Helper()
	db, err := store.Open(storetest.File(t), "")
	require.NoError(t, err)
	db.SetTimeout(sqldtest.Deadline)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return on(t, db)
}

func requireCode(t *testing.T, code core.Code, field string, err error) {
	t.Helper()
	var known *core.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, code, known.Code, err)
	require.Equal(t, field, known.Field, err)
}

func TestSignIn(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		token, s := b.signIn(t, "owner")
		require.Len(t, token, 43)
		require.Equal(t, "198.51.100.7", s.From)
		require.Equal(t, "Browser", s.Agent)
		require.True(t, s.SignedIn())
		again, _ := b.signIn(t, "owner")
		require.NotEqual(t, token, again)
		// The database has no token.
		_, _, ok, err := peopledb.FindSession(t.Context(), b.DB.Reads, token)
		require.NoError(t, err)
		require.False(t, ok)

		_, ok, err = b.signIns.Find(t.Context(), token+"x")
		require.NoError(t, err)
		require.False(t, ok)
		require.NoError(t, b.signIns.SignOut(t.Context(), s))
		_, ok, err = b.signIns.Find(t.Context(), token)
		require.NoError(t, err)
		require.False(t, ok)
		require.Equal(t, []string{
			`command line member.joined owner {"role":"owner"}`, `owner person.signed_in owner `, `owner person.signed_in owner `,
		}, b.actions(t, b.tenant))
	})
}

// An address that no person has costs the same work as a wrong password, and has the same
// answer.
func TestSignIn_DoesNotShowWhichAddressesAreKnown(t *testing.T) {
	t.Parallel()
	b := onFile(t)
	var answers []error
	var work []int64
	for _, email := range []string{b.address("owner"), b.address("stranger"), "no address"} {
		before := b.signIns.Passwords.Computed()
		_, _, err := b.signIns.SignIn(t.Context(), visitor, email, "wrong password")
		answers, work = append(answers, err), append(work, b.signIns.Passwords.Computed()-before)
	}
	require.Equal(t, []int64{1, 1, 1}, work)
	require.Equal(t, answers[0], answers[1])
	require.Equal(t, answers[0], answers[2])
	requireCode(t, core.CodeUnauthenticated, "password", answers[0])
	// The limit is the same too, and is checked before the work.
	for _, email := range []string{b.address("owner"), b.address("stranger")} {
		elsewhere := members.Visitor{Address: netip.MustParseAddr("203.0.113.9")}
		var last error
		tries := 0
		for ; tries < 50; tries++ {
			if _, _, last = b.signIns.SignIn(t.Context(), elsewhere, email, "wrong password"); !errors.As(last, new(*core.Error)) || strings.Contains(last.Error(), "too many") {
				break
			}
		}
		require.Equal(t, 10, tries)
		requireCode(t, core.CodeRateLimited, "", last)
		b.pass(2 * core.Hour)
	}
}

// Attempts at the same time do not exceed the limits: an attempt counts before the work.
func TestSignIn_LimitsAttemptsAtTheSameTime(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		_, s := b.signIn(t, "owner")
		b.enableTOTP(t, s)
		token, _, err := b.signIns.SignIn(ctx, visitor, b.address("owner"), password)
		require.NoError(t, err)
		half := b.seat(t, token)
		b.add(t, "ben", people.Viewer)
		b.signIns.Passwords.SetWait(time.Hour) // an attempt that waited too long would be given back
		// The addresses are private, so that only the limits of a person apply.
		from := func(last byte) members.Visitor {
			return members.Visitor{Address: netip.AddrFrom4([4]byte{10, 0, 0, last})}
		}
		for name, try := range map[string]func() error{
			"passwords": func() error {
				_, _, err := b.signIns.SignIn(ctx, from(1), b.address("ben"), "wrong password")
				return err
			},
			"codes": func() error { _, err := b.signIns.Enter(ctx, from(2), half, "000000"); return err },
			"recovery codes": func() error {
				_, err := b.signIns.Enter(ctx, from(3), half, "AAAA-BBBB-CCCC-DDDD")
				return err
			},
		} {
			var compared, refused atomic.Int64
			var all sync.WaitGroup
			for range 40 {
				all.Go(func() {
					var known *core.Error
					switch err := try(); {
					case !errors.As(err, &known):
						t.Errorf("%s: %v", name, err)
					case known.Code == core.CodeRateLimited:
						refused.Add(1)
					default:
						compared.Add(1)
					}
				})
			}
			all.Wait()
			require.Equal(t, []int64{10, 30}, []int64{compared.Load(), refused.Load()}, name)
		}
	})
}

func TestSignIn_LimitsWrongPasswords(t *testing.T) {
	t.Parallel()
	b := onFile(t)
	wrong := func(v members.Visitor, email string) error {
		_, _, err := b.signIns.SignIn(t.Context(), v, email, "wrong password")
		return err
	}
	for range 10 {
		requireCode(t, core.CodeUnauthenticated, "password", wrong(visitor, b.address("owner")))
	}
	before := b.signIns.Passwords.Computed()
	_, _, err := b.signIns.SignIn(t.Context(), visitor, b.address("owner"), password)
	requireCode(t, core.CodeRateLimited, "", err)
	require.Equal(t, before, b.signIns.Passwords.Computed())
	// The person can sign in from another network meanwhile.
	home := members.Visitor{Address: netip.MustParseAddr("203.0.113.9")}
	_, _, err = b.signIns.SignIn(t.Context(), home, b.address("owner"), password)
	require.NoError(t, err)
	// One network may not try many addresses.
	for i := range 20 {
		requireCode(t, core.CodeUnauthenticated, "password", wrong(visitor, b.address("x"+strconv.Itoa(i))))
	}
	requireCode(t, core.CodeRateLimited, "", wrong(visitor, b.address("y")))
	b.pass(31 * core.Minute)
	_, _, err = b.signIns.SignIn(t.Context(), visitor, b.address("owner"), password)
	require.NoError(t, err)
}

func TestSession_Expires(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		limits := people.DefaultSessionLimits()
		token, _ := b.signIn(t, "owner")
		for range 20 {
			b.pass(limits.Idle * 5 / 6)
			b.seat(t, token) // use keeps it
		}
		b.pass(limits.Idle)
		_, ok, err := b.signIns.Find(t.Context(), token)
		require.NoError(t, err)
		require.False(t, ok, "it was idle")

		token, _ = b.signIn(t, "owner")
		for passed := core.Time(0); passed+limits.Idle < limits.Life; passed += limits.Idle / 2 {
			b.pass(limits.Idle / 2)
			b.seat(t, token)
		}
		b.pass(limits.Idle)
		_, ok, err = b.signIns.Find(t.Context(), token)
		require.NoError(t, err)
		require.False(t, ok, "no session is older than the limit")
	})
}

func TestSession_TheOldestEnds(t *testing.T) {
	t.Parallel()
	b := onFile(t)
	var tokens []string
	for range people.MaxSessions + 1 {
		b.pass(core.Second)
		token, _ := b.signIn(t, "owner")
		tokens = append(tokens, token)
	}
	_, ok, err := b.signIns.Find(t.Context(), tokens[0])
	require.NoError(t, err)
	require.False(t, ok)
	b.seat(t, tokens[1])
}

func (b *bundle) enableTOTP(t *testing.T, s members.Seat) (people.TOTP, []string) {
	t.Helper()
	secret, err := b.profiles.BeginTOTP(t.Context(), s)
	require.NoError(t, err)
	codes, err := b.profiles.ConfirmTOTP(t.Context(), visitor, s, b.code(secret))
	require.NoError(t, err)
	return secret, codes
}

// code returns the one-time code of now.
func (b *bundle) code(secret people.TOTP) string { return secret.Code(int64(b.Now() / 30_000)) }

func TestTOTP(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		other, _ := b.signIn(t, "owner")
		token, s := b.signIn(t, "owner")
		secret, err := b.profiles.BeginTOTP(ctx, s)
		require.NoError(t, err)
		pending, ok, err := b.profiles.PendingTOTP(b.seat(t, token))
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, secret, pending)
		require.NotContains(t, b.seat(t, token).Person.TOTP, secret.String(), "the secret is sealed")
		b.signIn(t, "owner") // one step is enough until the secret is confirmed
		_, err = b.profiles.ConfirmTOTP(ctx, visitor, s, "000000")
		requireCode(t, core.CodeInvalid, "code", err)
		used := b.code(secret)
		codes, err := b.profiles.ConfirmTOTP(ctx, visitor, s, used)
		require.NoError(t, err)
		require.Len(t, codes, people.RecoveryCodes)
		_, ok, err = b.signIns.Find(ctx, other)
		require.NoError(t, err)
		require.False(t, ok, "other sessions end")

		waiting, stage, err := b.signIns.SignIn(ctx, visitor, b.address("owner"), password)
		require.NoError(t, err)
		require.Equal(t, people.SecondFactor, stage)
		half := b.seat(t, waiting)
		require.False(t, half.SignedIn())
		_, err = b.signIns.As(ctx, visitor, half, b.tenant)
		requireCode(t, core.CodeUnauthenticated, "", err)
		_, err = b.signIns.Enter(ctx, visitor, half, used)
		requireCode(t, core.CodeInvalid, "code", err) // a code is valid once
		b.pass(30 * core.Second)
		full, err := b.signIns.Enter(ctx, visitor, half, b.code(secret))
		require.NoError(t, err)
		require.NotEqual(t, waiting, full, "the session is replaced")
		require.True(t, b.seat(t, full).SignedIn())
		_, ok, err = b.signIns.Find(ctx, waiting)
		require.NoError(t, err)
		require.False(t, ok)
		_, err = b.signIns.Enter(ctx, visitor, half, b.code(secret))
		requireCode(t, core.CodeUnauthenticated, "", err)

		// A recovery code works once.
		for _, want := range []bool{true, false} {
			waiting, _, err := b.signIns.SignIn(ctx, visitor, b.address("owner"), password)
			require.NoError(t, err)
			token, err := b.signIns.Enter(ctx, visitor, b.seat(t, waiting), strings.ToLower(codes[3]))
			require.Equal(t, want, err == nil, err)
			if want {
				b.seat(t, token)
			}
		}
		left, err := b.profiles.CountRecovery(ctx, s)
		require.NoError(t, err)
		require.Equal(t, people.RecoveryCodes-1, left)

		// Turning it off needs the password again.
		b.pass(16 * core.Minute)
		s = b.seat(t, full)
		requireCode(t, core.CodeForbidden, "password", b.profiles.DisableTOTP(ctx, visitor, s))
		_, err = b.profiles.RenewRecovery(ctx, visitor, s)
		requireCode(t, core.CodeForbidden, "password", err)
		requireCode(t, core.CodeInvalid, "password", b.signIns.Confirm(ctx, visitor, s, "wrong password"))
		require.NoError(t, b.signIns.Confirm(ctx, visitor, s, password))
		s = b.seat(t, full)
		fresh, err := b.profiles.RenewRecovery(ctx, visitor, s)
		require.NoError(t, err)
		require.NotContains(t, fresh, codes[0])
		require.NoError(t, b.profiles.DisableTOTP(ctx, visitor, s))
		b.signIn(t, "owner")
		require.Equal(t, []string{
			"owner person.totp_enabled owner ", `owner person.signed_in owner {"failedBefore":1,"lastFailedFrom":"198.51.100.7"}`, `owner person.recovery_code_used owner {"left":9}`, "owner person.signed_in owner ",
			"owner person.recovery_codes_renewed owner ", "owner person.totp_disabled owner ", `owner person.signed_in owner {"failedBefore":2,"lastFailedFrom":"198.51.100.7"}`,
		}, b.actions(t, b.tenant)[4:])
	})
}

// Wrong codes are limited, for one person and from one network.
func TestTOTP_LimitsWrongCodes(t *testing.T) {
	t.Parallel()
	b := onFile(t)
	_, s := b.signIn(t, "owner")
	secret, _ := b.enableTOTP(t, s)
	waiting, _, err := b.signIns.SignIn(t.Context(), visitor, b.address("owner"), password)
	require.NoError(t, err)
	half := b.seat(t, waiting)
	for range 10 {
		_, err := b.signIns.Enter(t.Context(), visitor, half, "000000")
		requireCode(t, core.CodeInvalid, "code", err)
	}
	b.pass(30 * core.Second)
	_, err = b.signIns.Enter(t.Context(), visitor, half, b.code(secret))
	requireCode(t, core.CodeRateLimited, "", err)
}

func TestChangePassword(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		other, _ := b.signIn(t, "owner")
		token, s := b.signIn(t, "owner")
		const next = "another horse battery"
		requireCode(t, core.CodeInvalid, "new", b.profiles.ChangePassword(ctx, visitor, s, password, "short"))
		requireCode(t, core.CodeInvalid, "current", b.profiles.ChangePassword(ctx, visitor, s, "wrong password", next))
		require.NoError(t, b.profiles.ChangePassword(ctx, visitor, s, password, next))
		b.seat(t, token)
		_, ok, err := b.signIns.Find(ctx, other)
		require.NoError(t, err)
		require.False(t, ok, "other sessions end")
		_, _, err = b.signIns.SignIn(ctx, visitor, b.address("owner"), password)
		requireCode(t, core.CodeUnauthenticated, "password", err)
		_, _, err = b.signIns.SignIn(ctx, visitor, b.address("owner"), next)
		require.NoError(t, err)
	})
}

// Characters count, not the form in which a system sends them.
func TestSignIn_NormalizesPasswords(t *testing.T) {
	t.Parallel()
	b := onFile(t)
	_, err := b.members.Create(t.Context(), people.OperatorOf(b.tenant), b.address("u"), "", "über allen gipfeln", people.Viewer)
	require.NoError(t, err)
	_, _, err = b.signIns.SignIn(t.Context(), visitor, b.address("u"), "u\u0308ber allen gipfeln")
	require.NoError(t, err)
}

// Each byte of a password counts, and two people with one password have other hashes.
func TestSignIn_ComparesWholePasswords(t *testing.T) {
	t.Parallel()
	b := onFile(t)
	long := strings.Repeat("läuft! ", people.MaxPassword/8-1)
	hashes := map[string]bool{}
	for _, local := range []string{"u", "v"} {
		_, err := b.members.Create(t.Context(), people.OperatorOf(b.tenant), b.address(local), "", long+"x", people.Viewer)
		require.NoError(t, err)
		token, _, err := b.signIns.SignIn(t.Context(), visitor, b.address(local), long+"x")
		require.NoError(t, err)
		hashes[b.seat(t, token).Person.Password] = true
		_, _, err = b.signIns.SignIn(t.Context(), visitor, b.address(local), long+"y")
		requireCode(t, core.CodeUnauthenticated, "password", err)
	}
	require.Len(t, hashes, 2)
}

// The same secret is sealed with another nonce each time.
func TestSeal_UsesANonceOnce(t *testing.T) {
	t.Parallel()
	b := onFile(t)
	sealed := map[string]bool{}
	for range 100 {
		text, err := b.Seal("place", "secret")
		require.NoError(t, err)
		sealed[text] = true
	}
	require.Len(t, sealed, 100)
}

// The audit log of a tenant has the sign-ins that were used in it, once each, and not those
// that its members use in other tenants.
func TestSignIn_IsInTheLogOfItsTenant(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		second := b.tenant + "-b"
		b.addTenant(t, second)
		_, link, err := b.members.Invite(ctx, people.OperatorOf(second), b.address("owner"), "viewer")
		require.NoError(t, err)
		token, s := b.signIn(t, "owner")
		_, err = b.members.AcceptAs(ctx, visitor, s, link)
		require.NoError(t, err)
		signIns := func(tenant core.TenantAlias) (n int) {
			for _, action := range b.actions(t, tenant) {
				if strings.Contains(action, string(operation.SignIn.Action)) {
					n++
				}
			}
			return n
		}
		require.Equal(t, []int{1, 0}, []int{signIns(b.tenant), signIns(second)})
		for range 3 {
			for _, tenant := range []core.TenantAlias{b.tenant, base.TestPrefix + b.tenant, second} {
				_, err := b.signIns.As(ctx, visitor, b.seat(t, token), tenant)
				require.NoError(t, err)
			}
		}
		require.Equal(t, []int{1, 1}, []int{signIns(b.tenant), signIns(second)})
		require.Zero(t, signIns(base.TestPrefix+b.tenant))
	})
}

func TestSessions_ListAndRevoke(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		b.add(t, "ben", people.Viewer)
		_, foreign := b.signIn(t, "ben")
		other, otherSeat := b.signIn(t, "owner")
		b.pass(core.Second)
		_, s := b.signIn(t, "owner")
		all, err := b.profiles.Sessions(ctx, s)
		require.NoError(t, err)
		require.Equal(t, []people.Session{s.Session, otherSeat.Session}, all)
		requireCode(t, core.CodeNotFound, "", b.profiles.RevokeSession(ctx, visitor, s, foreign.ID))
		require.NoError(t, b.profiles.RevokeSession(ctx, visitor, s, otherSeat.ID))
		_, ok, err := b.signIns.Find(ctx, other)
		require.NoError(t, err)
		require.False(t, ok)
	})
}

func TestReset(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		token, s := b.signIn(t, "owner")
		b.enableTOTP(t, s)
		_, _, err := b.resets.MakeLink(ctx, b.address("stranger"), "", false)
		requireCode(t, core.CodeNotFound, "", err)
		old, _, err := b.resets.MakeLink(ctx, b.address("owner"), "", false)
		require.NoError(t, err)
		link, expires, err := b.resets.MakeLink(ctx, b.address("owner"), "", true)
		require.NoError(t, err)
		require.Equal(t, b.Now()+people.ResetLife, expires)
		_, err = b.resets.Find(ctx, old)
		requireCode(t, core.CodeNotFound, "", err)
		requireCode(t, core.CodeInvalid, "password", b.resets.Reset(ctx, visitor, link, "short"))
		const next = "another horse battery"
		require.NoError(t, b.resets.Reset(ctx, visitor, link, next))
		requireCode(t, core.CodeNotFound, "", b.resets.Reset(ctx, visitor, link, next))
		_, ok, err := b.signIns.Find(ctx, token)
		require.NoError(t, err)
		require.False(t, ok, "all sessions end")
		token, stage, err := b.signIns.SignIn(ctx, visitor, b.address("owner"), next)
		require.NoError(t, err)
		require.Equal(t, people.SignedIn, stage, "two-step sign-in is off")
		b.seat(t, token)

		link, _, err = b.resets.MakeLink(ctx, b.address("owner"), "", false)
		require.NoError(t, err)
		b.pass(people.ResetLife)
		_, err = b.resets.Find(ctx, link)
		requireCode(t, core.CodeNotFound, "", err)
		require.Equal(t, []string{
			"command line person.reset_link_made owner ", "command line person.totp_disabled owner ", "command line person.reset_link_made owner ",
			`owner person.password_reset owner {"endedSessions":1}`, "owner person.signed_in owner ", "command line person.reset_link_made owner ",
		}, b.actions(t, b.tenant)[3:])
	})
}

func TestInvite(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		owner := b.as(t, "owner", base.TestPrefix+b.tenant)
		_, _, err := b.members.Invite(ctx, owner, "no address", "emperor")
		require.ErrorContains(t, err, "email: is not an address")
		require.ErrorContains(t, err, "role: must be one of")
		_, _, err = b.members.Invite(ctx, owner, b.address("owner"), "viewer")
		requireCode(t, core.CodeConflict, "email", err)
		_, stale, err := b.members.Invite(ctx, owner, b.address("ben"), "viewer")
		require.NoError(t, err)
		i, link, err := b.members.Invite(ctx, owner, strings.ToUpper(b.address("ben")), "support")
		require.NoError(t, err)
		require.Equal(t, b.tenant, i.Tenant, "live and test tenant have the same members")
		_, err = b.members.FindInvitation(ctx, stale)
		requireCode(t, core.CodeNotFound, "", err)
		found, err := b.members.FindInvitation(ctx, link)
		require.NoError(t, err)
		require.Equal(t, i, found)
		_, err = b.members.Accept(ctx, visitor, link, "Ben", "short")
		requireCode(t, core.CodeInvalid, "password", err)
		token, err := b.members.Accept(ctx, visitor, link, "Ben", password)
		require.NoError(t, err)
		s := b.seat(t, token)
		for _, tenant := range []core.TenantAlias{b.tenant, base.TestPrefix + b.tenant} {
			c, err := b.signIns.As(ctx, visitor, s, tenant)
			require.NoError(t, err)
			require.Equal(t, people.Caller{Person: s.Person.ID, Email: b.address("ben"), Tenant: tenant, Role: people.Support, From: "198.51.100.7", InvitedBy: b.address("owner"), Confirmed: true}, c)
		}
		_, err = b.members.Accept(ctx, visitor, link, "Ben", password)
		requireCode(t, core.CodeNotFound, "", err)

		// A person with a password joins another tenant by signing in.
		second := b.tenant + "-b"
		b.addTenant(t, second)
		_, err = b.signIns.As(ctx, visitor, s, second)
		require.Equal(t, core.UnknownTenant(), err)
		_, link, err = b.members.Invite(ctx, people.OperatorOf(second), b.address("ben"), "owner")
		require.NoError(t, err)
		_, err = b.members.Accept(ctx, visitor, link, "Ben", password)
		requireCode(t, core.CodeConflict, "password", err)
		_, stranger := b.signIn(t, "owner")
		_, err = b.members.AcceptAs(ctx, visitor, stranger, link)
		requireCode(t, core.CodeForbidden, "", err)
		joined, err := b.members.AcceptAs(ctx, visitor, s, link)
		require.NoError(t, err)
		require.Equal(t, second, joined)
		of, err := b.signIns.Tenants(ctx, s)
		require.NoError(t, err)
		require.Equal(t, []peopledb.Membership{{Tenant: b.tenant, Role: people.Support, Test: true, InvitedBy: b.address("owner")}, {Tenant: second, Role: people.Owner, InvitedBy: people.Operator}}, of)

		_, link, err = b.members.Invite(ctx, owner, b.address("carl"), "viewer")
		require.NoError(t, err)
		_, open, err := b.members.List(ctx, owner)
		require.NoError(t, err)
		require.Len(t, open, 1)
		require.NoError(t, b.members.RevokeInvitation(ctx, owner, open[0].ID))
		requireCode(t, core.CodeNotFound, "", b.members.RevokeInvitation(ctx, owner, open[0].ID))
		_, err = b.members.FindInvitation(ctx, link)
		requireCode(t, core.CodeNotFound, "", err)
		_, link, err = b.members.Invite(ctx, owner, b.address("carl"), "viewer")
		require.NoError(t, err)
		b.pass(people.InvitationLife)
		_, err = b.members.FindInvitation(ctx, link)
		requireCode(t, core.CodeNotFound, "", err)
	})
}

// An invitation is used once, however many requests use it at the same time.
func TestAccept_Once(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		_, link, err := b.members.Invite(t.Context(), people.OperatorOf(b.tenant), b.address("ben"), "viewer")
		require.NoError(t, err)
		var accepted atomic.Int64
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if _, err := b.members.Accept(t.Context(), visitor, link, "", password); err == nil {
					accepted.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, accepted.Load())
	})
}

func TestMembers_TheLastOwnerStays(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		owner := b.as(t, "owner", b.tenant)
		ben := b.add(t, "ben", people.Manager)
		for _, err := range []error{b.members.ChangeRole(ctx, owner, owner.Person, "viewer"), b.members.Remove(ctx, owner, owner.Person)} {
			requireCode(t, core.CodeConflict, "role", err)
		}
		require.NoError(t, b.members.ChangeRole(ctx, owner, ben, "owner"))
		// Two owners who remove each other at the same time leave one.
		others := b.as(t, "ben", b.tenant)
		var all sync.WaitGroup
		var failed atomic.Int64
		for _, remove := range []func() error{
			func() error { return b.members.Remove(ctx, owner, ben) }, func() error { return b.members.Remove(ctx, others, owner.Person) },
		} {
			all.Go(func() {
				if remove() != nil {
					failed.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, failed.Load())
		list, _, err := b.members.List(ctx, people.OperatorOf(b.tenant))
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Equal(t, people.Owner, list[0].Role)
	})
}

// A removed member has no access at once, and is deleted if no other tenant has them.
func TestRemove(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		owner := b.as(t, "owner", b.tenant)
		ben := b.add(t, "ben", people.Manager)
		token, s := b.signIn(t, "ben")
		second := b.tenant + "-b"
		b.addTenant(t, second)
		_, link, err := b.members.Invite(ctx, people.OperatorOf(second), b.address("ben"), "owner")
		require.NoError(t, err)
		_, err = b.members.AcceptAs(ctx, visitor, s, link)
		require.NoError(t, err)
		require.NoError(t, b.members.Remove(ctx, owner, ben))
		requireCode(t, core.CodeNotFound, "", b.members.Remove(ctx, owner, ben))
		_, err = b.signIns.As(ctx, visitor, b.seat(t, token), b.tenant)
		require.Equal(t, core.UnknownTenant(), err)
		_, err = b.signIns.As(ctx, visitor, b.seat(t, token), second)
		require.NoError(t, err)

		carl := b.add(t, "carl", people.Viewer)
		token, _ = b.signIn(t, "carl")
		require.NoError(t, b.members.Remove(ctx, owner, carl))
		_, ok, err := b.signIns.Find(ctx, token)
		require.NoError(t, err)
		require.False(t, ok)
		carls, err := peopledb.WithEmail(ctx, b.DB.Reads, b.address("carl"))
		require.NoError(t, err)
		require.Empty(t, carls)
		require.Contains(t, b.actions(t, b.tenant), `owner member.removed carl {"role":"viewer"}`)
	})
}

// Each role may call each use case that the table of roles permits it, and no other one.
func TestRoles_EachUseCase(t *testing.T) {
	t.Parallel()
	b := onFile(t)
	ctx := t.Context()
	victim := b.add(t, "victim", people.Viewer)
	calls := map[string]struct {
		op   *operation.Operation
		call func(people.Caller) error
	}{
		"members.List": {operation.ReadMembers, func(c people.Caller) error { _, _, err := b.members.List(ctx, c); return err }},
		"members.ByEmail": {operation.ReadMembers, func(c people.Caller) error {
			_, err := b.members.ByEmail(ctx, c, b.address("victim"))
			return err
		}},
		"members.Invite": {operation.InviteMember, func(c people.Caller) error {
			_, _, err := b.members.Invite(ctx, c, b.address("new"), "viewer")
			return err
		}},
		"members.RevokeInvitation":  {operation.InviteMember, func(c people.Caller) error { return b.members.RevokeInvitation(ctx, c, "unknown") }},
		"members.ChangeRole":        {operation.InviteMember, func(c people.Caller) error { return b.members.ChangeRole(ctx, c, victim, "support") }},
		"members.RequireSecondStep": {operation.InviteMember, func(c people.Caller) error { return b.members.RequireSecondStep(ctx, c, false) }},
		"members.NeedsSecondStep": {operation.ReadMembers, func(c people.Caller) error {
			_, err := b.members.NeedsSecondStep(ctx, c)
			return err
		}},
		"members.Remove": {operation.InviteMember, func(c people.Caller) error { return b.members.Remove(ctx, c, "unknown") }},
		"members.Create": {operation.InviteMember, func(c people.Caller) error {
			_, err := b.members.Create(ctx, c, b.address("made"), "", password, people.Viewer)
			return err
		}},
		"audits.Page": {operation.ReadAudit, func(c people.Caller) error { _, _, err := b.audits.Page(ctx, c, people.AuditFilter{}); return err }},
		"audits.Export": {operation.ReadAudit, func(c people.Caller) error {
			_, err := b.audits.Export(ctx, c, people.AuditFilter{}, people.AuditCSV, nil, io.Discard)
			return err
		}},
	}
	for name, use := range calls {
		for _, role := range append(people.Roles(), "") {
			err := use.call(people.Caller{Person: "p", Email: "p@x.example", Tenant: b.tenant, Role: role, Confirmed: true})
			var known *core.Error
			refused := errors.As(err, &known) && known.Code == core.CodeForbidden
			require.Equal(t, !use.op.Permits(role), refused, "%s, %q: %v", name, role, err)
			if !refused && err != nil {
				require.NotNil(t, known, "%s, %q: %v", name, role, err)
				require.Equal(t, core.CodeNotFound, known.Code, "%s, %q: %v", name, role, err)
			}
		}
	}
}

// What a role does not permit is in the audit log, a few times an hour for each person.
func TestAudit_Refusals(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		b.add(t, "ben", people.Viewer)
		b.add(t, "carl", people.Viewer)
		ben, carl := b.as(t, "ben", b.tenant), b.as(t, "carl", b.tenant)
		refused := func() (n int) {
			for _, action := range b.actions(t, b.tenant) {
				if strings.Contains(action, string(operation.TryForbidden.Action)) {
					n++
				}
			}
			return n
		}
		for range people.MaxAuditRefused + 5 {
			require.NoError(t, b.audits.Refused(ctx, ben, "POST /x"))
		}
		require.NoError(t, b.audits.Refused(ctx, carl, "POST /x"))
		require.Equal(t, people.MaxAuditRefused+1, refused())
		b.pass(core.Hour + 1)
		require.NoError(t, b.audits.Refused(ctx, ben, "POST /x"))
		require.Equal(t, people.MaxAuditRefused+2, refused())
	})
}

func TestAudit_FiltersAndPages(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		operator := people.OperatorOf(b.tenant)
		require.NoError(t, b.DB.Write(ctx, b.Now(), func(tx *store.Tx) error {
			for i := range people.MaxAuditPage + 5 {
				tx.Now = start + core.Time(i)*core.Hour
				c := people.Caller{Person: "p", Email: "Ann@X.example", Tenant: b.tenant, From: "192.0.2.1"}
				err := base.Audit(ctx, tx, c, base.Change{Operation: operation.ChangeMemberRole, Subject: "100%_" + strconv.Itoa(i), After: map[string]any{"role": "viewer"}})
				if err != nil {
					return err
				}
			}
			return nil
		}))
		page, next, err := b.audits.Page(ctx, operator, people.AuditFilter{})
		require.NoError(t, err)
		require.Len(t, page, people.MaxAuditPage)
		require.Equal(t, "100%_104", page[0].Subject)
		rest, last, err := b.audits.Page(ctx, operator, people.AuditFilter{Before: next})
		require.NoError(t, err)
		require.Zero(t, last)
		require.Len(t, rest, 6)
		require.Equal(t, people.Operator, rest[5].Actor)
		for _, c := range []struct {
			f    people.AuditFilter
			want int
		}{
			{people.AuditFilter{Actor: "ANN@x"}, 100},
			{people.AuditFilter{Actor: "command"}, 1},
			{people.AuditFilter{Subject: "100%_5"}, 11},
			{people.AuditFilter{Subject: "100_"}, 0},
			{people.AuditFilter{Action: operation.AddMember.Action}, 1},
			{people.AuditFilter{Span: core.Span{From: start + core.Hour, Before: start + 3*core.Hour}}, 2},
		} {
			page, _, err := b.audits.Page(ctx, operator, c.f)
			require.NoError(t, err)
			require.Len(t, page, c.want, "%+v", c.f)
		}
		other, _, err := b.audits.Page(ctx, people.OperatorOf(base.TestPrefix+b.tenant), people.AuditFilter{})
		require.NoError(t, err)
		require.Empty(t, other)

		few, next, err := b.audits.Page(ctx, operator, people.AuditFilter{Limit: 2})
		require.NoError(t, err)
		require.Equal(t, page[:2], few)
		require.Equal(t, page[1].Seq, next)
		_, _, err = b.audits.Page(ctx, operator, people.AuditFilter{Limit: people.MaxAuditPage + 1})
		require.EqualError(t, err, "limit: must be a whole number from 1 to 100")

		var file bytes.Buffer
		complete, err := b.audits.Export(ctx, operator, people.AuditFilter{Actor: "ann"}, people.AuditCSV, nil, &file)
		require.NoError(t, err)
		require.True(t, complete)
		lines := strings.Split(file.String(), "\n")
		require.Len(t, lines, 1+people.MaxAuditPage+5+1)
		require.Equal(t, "seq,time,actor,ip,action,subject,before,after,accountId,userId,invitedBy", lines[0])
		require.Equal(t, strconv.FormatInt(page[0].Seq, 10)+`,2023-11-19T06:13:20.000Z,Ann@X.example,192.0.2.1,member.role_changed,100%_104,,"{""role"":""viewer""}",,,`, lines[1])

		file.Reset()
		_, err = b.audits.Export(ctx, operator, people.AuditFilter{Actor: "ann", Limit: 1}, people.AuditJSON, nil, &file)
		require.NoError(t, err)
		var entries []struct{ Subject string }
		require.NoError(t, json.Unmarshal(file.Bytes(), &entries))
		require.Len(t, entries, people.MaxAuditPage+5)
		require.Equal(t, "100%_0", entries[people.MaxAuditPage+4].Subject)

		file.Reset()
		_, err = b.audits.Export(ctx, operator, people.AuditFilter{Actor: "nobody"}, people.AuditJSON, nil, &file)
		require.NoError(t, err)
		require.Equal(t, "[]\n", file.String())
	})
}

// An API key manages members, but no owner: neither makes one, nor changes or removes one.
func TestMembers_OfAnAPIKey(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		key := people.KeyHolder(b.tenant, "terraform", "192.0.2.1")
		forbidden := func(err error) {
			t.Helper()
			var known *core.Error
			require.ErrorAs(t, err, &known)
			require.Equal(t, core.CodeForbidden, known.Code)
		}
		owner, viewer := b.add(t, "second", people.Owner), b.add(t, "viewer", people.Viewer)
		forbidden(b.members.ChangeRole(ctx, key, viewer, "owner"))
		forbidden(b.members.ChangeRole(ctx, key, owner, "viewer"))
		forbidden(b.members.Remove(ctx, key, owner))
		_, _, err := b.members.Invite(ctx, key, b.address("ben"), "owner")
		forbidden(err)

		invited, _, err := b.members.Invite(ctx, people.OperatorOf(b.tenant), b.address("ben"), "owner")
		require.NoError(t, err)
		_, _, err = b.members.Invite(ctx, key, b.address("ben"), "viewer")
		forbidden(err)
		forbidden(b.members.RevokeInvitation(ctx, key, invited.ID))
		all, open, err := b.members.List(ctx, key)
		require.NoError(t, err)
		require.Len(t, all, 3)
		require.Equal(t, []people.Invitation{invited}, open, "a refused call changes nothing")

		require.NoError(t, b.members.ChangeRole(ctx, key, viewer, "manager"))
		mine, _, err := b.members.Invite(ctx, key, b.address("cleo"), "manager")
		require.NoError(t, err)
		require.Equal(t, "API key terraform", mine.By)
		require.NoError(t, b.members.RevokeInvitation(ctx, key, mine.ID))
		require.NoError(t, b.members.Remove(ctx, key, viewer))
		entries, _, err := b.audits.Page(ctx, key, people.AuditFilter{Actor: "api key terraform"})
		require.NoError(t, err)
		var actions []people.Action
		for _, e := range entries {
			actions = append(actions, e.Action)
			require.Equal(t, "192.0.2.1", e.From)
		}
		require.Equal(t, []people.Action{operation.RemoveMember.Action, operation.RevokeInvitation.Action, operation.InviteMember.Action, operation.ChangeMemberRole.Action}, actions)

		// The members of a test tenant are those of its live tenant.
		test := people.KeyHolder(base.TestPrefix+b.tenant, "default", "")
		_, _, err = b.members.List(ctx, test)
		require.EqualError(t, err, "API key: belongs to a test tenant, whose members are those of "+string(b.tenant)+"; use an API key of "+string(b.tenant))
		_, _, err = b.members.Invite(ctx, test, b.address("dan"), "viewer")
		forbidden(err)
		forbidden(b.members.Remove(ctx, test, viewer))
	})
}

func TestForget(t *testing.T) {
	t.Parallel()
	b := onFile(t)
	ctx := t.Context()
	b.signIn(t, "owner")
	_, _, err := b.members.Invite(ctx, people.OperatorOf(b.tenant), b.address("ben"), "viewer")
	require.NoError(t, err)
	removed, err := b.audits.Forget(ctx)
	require.NoError(t, err)
	require.Zero(t, removed)
	b.pass(people.MaxSessionLife + 1)
	removed, err = b.audits.Forget(ctx)
	require.NoError(t, err)
	require.Equal(t, 2, removed, "the session and the invitation")
	b.pass(people.AuditLife)
	removed, err = b.audits.Forget(ctx)
	require.NoError(t, err)
	require.Equal(t, 3, removed, "the audit log")
	b.signIn(t, "owner") // a member stays, however long ago the last sign-in was

	lonely := b.add(t, "lonely", people.Viewer)
	require.NoError(t, b.DB.Write(ctx, b.Now(), func(tx *store.Tx) error { return peopledb.DeleteMember(ctx, tx, b.tenant, lonely) }))
	b.pass(31 * core.Day)
	_, err = b.audits.Forget(ctx)
	require.NoError(t, err)
	_, ok, err := peopledb.Find(ctx, b.DB.Reads, lonely)
	require.NoError(t, err)
	require.False(t, ok)
}

// Large values do not fill the audit log.
func TestAudit_BoundsValues(t *testing.T) {
	t.Parallel()
	e, err := base.Change{Operation: operation.SignIn, After: map[string]any{"a": strings.Repeat("x", people.MaxAuditValue)}}.Entry("p", "a", "")
	require.NoError(t, err)
	require.Equal(t, `{"omittedBytes":16392}`, e.After)
}

// A sign-in has the failed ones before it, the audit log too, and each is counted.
func TestSignIn_ShowsFailures(t *testing.T) {
	everywhere(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		counted := map[string]int64{}
		b.OnWork = func(work, kind, outcome string, n int64) { counted[work+" "+kind+" "+outcome] += n }
		_, s := b.signIn(t, "owner")
		require.Zero(t, s.Failed)
		secret, _ := b.enableTOTP(t, s)
		b.pass(core.Hour)
		elsewhere := members.Visitor{Address: netip.MustParseAddr("203.0.113.9")}
		for _, email := range []string{b.address("owner"), b.address("stranger"), "no address"} {
			_, _, err := b.signIns.SignIn(ctx, elsewhere, email, "wrong password")
			requireCode(t, core.CodeUnauthenticated, "password", err)
		}
		b.pass(core.Minute)
		waiting, _, err := b.signIns.SignIn(ctx, visitor, b.address("owner"), password)
		require.NoError(t, err)
		_, err = b.signIns.Enter(ctx, visitor, b.seat(t, waiting), "000000")
		requireCode(t, core.CodeInvalid, "code", err)
		token, err := b.signIns.Enter(ctx, visitor, b.seat(t, waiting), b.code(secret))
		require.NoError(t, err)
		require.Equal(t, people.Failures{Times: 2, Last: b.Now(), From: "198.51.100.7"}, b.seat(t, token).Failed)
		require.Contains(t, b.actions(t, b.tenant), `owner person.signed_in owner {"failedBefore":2,"lastFailedFrom":"198.51.100.7"}`)
		require.Equal(t, map[string]int64{"sign_in password done": 2, "sign_in password failed": 3, "sign_in code failed": 1, "sign_in code done": 1}, counted)
	})
}

// Old failures are forgotten. The test has a file: on the shared server it would forget the
// sessions of other tests, whose clocks are behind.
func TestForget_FailedSignIns(t *testing.T) {
	t.Parallel()
	b := onFile(t)
	_, _, err := b.signIns.SignIn(t.Context(), visitor, b.address("owner"), "wrong password")
	requireCode(t, core.CodeUnauthenticated, "password", err)
	b.pass(31 * core.Day)
	_, err = b.audits.Forget(t.Context())
	require.NoError(t, err)
	_, s := b.signIn(t, "owner")
	require.Zero(t, s.Failed)
}
