package base

import (
	"cmp"
	"log/slog"
	"strings"

	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/wire"
)

// Caller is the sender of a request: a client with an API key of the tenant, a user
// with a user token, or an anonymous client without credentials. The zero value is an
// anonymous client of no tenant.
type Caller struct {
	Tenant tenantdb.Tenant
	// Key is true if the caller sent a valid API key. Role is the role of that key, see
	// Require, KeyName its name, and KeyExpires when it ends; zero: it does not.
	Key        bool
	Role       auth.Role
	KeyName    string
	KeyExpires core.Time
	// Operator is true for the operator, who uses the command line and may do what a key with
	// every right may.
	Operator bool
	// User is the user whom a valid user token names, or nil. Token is that token.
	User  *wire.Subject
	Token string
	// Anonymous is true for a token that is valid for a user without ids; see
	// callers.AuthenticateAnonymous. Only May uses it, for auth.CreateCookieUser.
	Anonymous bool
}

// Member returns a caller with an API key as the use cases of members take it: the audit
// log names the key, or the operator. from is the IP address that the call came from, or empty.
func (c Caller) Member(from string) people.Caller {
	if c.Operator {
		return people.OperatorOf(c.Tenant.Alias)
	}
	return people.KeyHolder(c.Tenant.Alias, c.KeyName, from)
}

// Require returns an error about a call if the caller sent an API key whose role does not permit
// the operation. It returns nil for callers without an API key: MustHoldKey and May
// decide about them.
func (c Caller) Require(op *operation.Operation, call string) error {
	if !c.Key {
		return nil
	}
	return op.RequireKey(c.Role, call)
}

// MustHoldKey returns nil if the caller sent an API key. Otherwise the error is
// forbidden for a user token, and unauthenticated without credentials.
func (c Caller) MustHoldKey() error {
	switch {
	case c.Key:
		return nil
	case c.User == nil:
		return auth.NoCredentials()
	}
	return &core.Error{Code: core.CodeForbidden, Message: "this call needs the tenant's API key; a user token is not enough"}
}

// May returns nil if the caller may call the endpoint about a user. The tenant's secure
// mode decides: an API key is always enough, a token of that user is enough unless the
// endpoint is disabled, and no credentials are needed if the endpoint is open. The
// error is unauthenticated or forbidden.
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
		return auth.Anonymous
	case c.User.Account == account && c.User.User == user:
		return auth.SameUser
	}
	return auth.OtherUser
}

// Vouched returns the update without the fields that the caller may not set; see
// wire.Vouched. body is the JSON from which wire.ParseUser made the update. A caller
// with the API key may set every field.
func (c Caller) Vouched(u referral.UserUpdate, body []byte) (referral.UserUpdate, error) {
	switch {
	case c.Key:
		return u, nil
	case c.User == nil:
		return Vouched(c.Tenant.Alias, u, wire.Subject{}, body, c.Tenant.BrowserPayment)
	}
	return Vouched(c.Tenant.Alias, u, *c.User, body, c.Tenant.BrowserPayment)
}

// Vouched is wire.Vouched. It also logs which fields were left out, so that an operator
// can see why a browser could not set them.
func Vouched(tenant core.TenantAlias, u referral.UserUpdate, s wire.Subject, body []byte, payment auth.BrowserPayment) (referral.UserUpdate, error) {
	u, left, err := wire.Vouched(u, s, body, payment)
	if err == nil && len(left) > 0 {
		slog.Info("identification: keys ignored that the user token does not sign", "tenant", tenant, "keys", strings.Join(left, ","))
	}
	return u, err
}

// Share returns the maker of a tenant's share links outside of a request, with
// PublicURL as the origin of the service.
func (b *Base) Share(t tenantdb.Tenant) link.Share { return Caller{Tenant: t}.Share(b.PublicURL) }

// Share returns the maker of the tenant's share links. They begin with the first of
// these that is not empty: the tenant's share origin, the given origin of the service,
// the origin of the tenant's landing page.
func (c Caller) Share(origin string) link.Share {
	return link.Share{Origin: cmp.Or(c.Tenant.ShareOrigin, origin, link.OriginOf(c.Tenant.Landing)), Tenant: c.Tenant.Alias}
}
