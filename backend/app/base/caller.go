package base

import (
	"cmp"
	"log/slog"
	"strings"

	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/wire"
)

// Caller is who sent a request: a holder of the tenant's API key, the user that
// a token speaks for, or anybody. Its zero value is anybody.
type Caller struct {
	Tenant tenantdb.Tenant
	// Key is true for a holder of an API key, and Role is what that permits; see
	// Require.
	Key  bool
	Role auth.Role
	// User is whom a user token speaks for, or nil; Token is that token.
	User  *wire.Subject
	Token string
	// Anonymous is true for a token that admits a user who has no ids yet; see
	// AuthenticateAnonymous. For any other call it is worth nothing.
	Anonymous bool
}

// Require returns nil unless the caller holds an API key whose role does not permit
// an operation. What others may do is for MustHoldKey and May to say.
func (c Caller) Require(op auth.Operation) error {
	if !c.Key {
		return nil
	}
	return c.Role.Require(op)
}

// MustHoldKey refuses anybody, and a user token, where only the API key will do.
func (c Caller) MustHoldKey() error {
	switch {
	case c.Key:
		return nil
	case c.User == nil:
		return auth.NoCredentials()
	}
	return &core.Error{Code: core.CodeForbidden, Message: "this call needs the tenant's API key; a user token is not enough"}
}

// May returns nil when the caller may make a call about a user, as the tenant's
// secure mode has it: a holder of the API key always, that user with a token
// unless the endpoint is disabled, anybody when it is open. The error is
// unauthenticated or forbidden.
func (c Caller) May(e auth.Endpoint, account core.AccountID, user core.UserID) error {
	if c.Anonymous && e == auth.CreateCookieUser {
		return c.Tenant.SecureMode.Admit(e, auth.SameUser)
	}
	return c.Tenant.SecureMode.Admit(e, c.bearer(account, user))
}

func (c Caller) bearer(account core.AccountID, user core.UserID) auth.Bearer {
	switch {
	case c.Key:
		return auth.KeyHolder
	case c.User == nil:
		return auth.Nobody
	case c.User.Account == account && c.User.User == user:
		return auth.SameUser
	}
	return auth.OtherUser
}

// Vouched returns an update without what the caller may not say: body is what
// wire.ParseUser made it of. See wire.Vouched. A holder of the API key may say
// anything.
func (c Caller) Vouched(u referral.UserUpdate, body []byte) (referral.UserUpdate, error) {
	switch {
	case c.Key:
		return u, nil
	case c.User == nil:
		return Vouched(c.Tenant.Alias, u, wire.Subject{}, body, c.Tenant.BrowserPayment)
	}
	return Vouched(c.Tenant.Alias, u, *c.User, body, c.Tenant.BrowserPayment)
}

// Vouched is wire.Vouched, with a line in the log that explains why a
// browser's word did nothing.
func Vouched(tenant core.TenantAlias, u referral.UserUpdate, s wire.Subject, body []byte, payment auth.BrowserPayment) (referral.UserUpdate, error) {
	u, left, err := wire.Vouched(u, s, body, payment)
	if err == nil && len(left) > 0 {
		slog.Info("an identification was taken without what no user token signs", "tenant", tenant, "keys", strings.Join(left, ","))
	}
	return u, err
}

// Share makes the share links of a tenant where no request says where the service
// is reached.
func (b *Base) Share(t tenantdb.Tenant) link.Share { return Caller{Tenant: t}.Share(b.PublicURL) }

// Share makes share links that begin where the tenant wants, or else at the origin
// of the service, or, when that is empty, at that of the tenant's landing page.
func (c Caller) Share(origin string) link.Share {
	return link.Share{Origin: cmp.Or(c.Tenant.ShareOrigin, origin, link.OriginOf(c.Tenant.Landing)), Tenant: c.Tenant.Alias}
}
