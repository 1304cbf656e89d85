package api

import (
	"context"
	"net/http"
	"strings"

	"kith/backend/app/base"
	"kith/core"
	"kith/core/auth"
	"kith/core/operation"
)

// referrerHeader is sent by the browser scripts of the older API (clients 7.1.1).
const referrerHeader = "X-SaaSquatch-Referrer"

// userTokenHeader may have the user token instead of Authorization (clients 2.2.3).
const userTokenHeader = "X-SaaSquatch-User-Token" // #nosec G101 -- the name of a header

// caller authenticates a request to the tenant in its path. It refuses an API key whose
// role does not permit op.
func (a *API) caller(w http.ResponseWriter, r *http.Request, op *operation.Operation) (base.Caller, error) {
	return a.callerBy(a.Engine.Callers.Authenticate, w, r, op)
}

// maybeAnonymous is caller for a request that may concern a user without ids; see
// callers.Callers.AuthenticateAnonymous.
func (a *API) maybeAnonymous(w http.ResponseWriter, r *http.Request, op *operation.Operation) (base.Caller, error) {
	return a.callerBy(a.Engine.Callers.AuthenticateAnonymous, w, r, op)
}

func (a *API) callerBy(authenticate authenticator, w http.ResponseWriter, r *http.Request, op *operation.Operation) (base.Caller, error) {
	alias, err := core.ParseTenantAlias(r.PathValue("tenant"))
	if err != nil {
		return base.Caller{}, err
	}
	c, err := a.counted(w, r, alias, r.Header.Get("Authorization"), r.Header.Get(userTokenHeader), authenticate)
	if err != nil {
		return c, err
	}
	return c, c.Require(op, nameOf(r))
}

// nameOf returns the method and the path of a request's route, without the tenant.
func nameOf(r *http.Request) string {
	return methodOf(r) + " " + strings.TrimPrefix(r.Pattern, tenantPath)
}

type authenticator func(ctx context.Context, alias core.TenantAlias, authorization, userToken string) (base.Caller, error)

// counted authenticates a call. A call that may be a guess is counted, and refused if
// its network made too many.
func (a *API) counted(w http.ResponseWriter, r *http.Request, alias core.TenantAlias, authorization, userToken string, authenticate authenticator) (base.Caller, error) {
	if a.Operator {
		tenant, err := a.Engine.Tenants.ByAlias(r.Context(), alias)
		return base.Caller{Tenant: tenant, Key: true, Role: auth.RoleAll, Operator: true}, err
	}
	counted := a.isGuess(r, alias, authorization, userToken)
	if counted {
		if tooMany := a.guesses().attempt(w, r, 1); tooMany != nil {
			return base.Caller{}, tooMany
		}
	}
	c, err := authenticate(r.Context(), alias, authorization, userToken)
	if !counted && mayGuess(c, err) {
		if tooMany := a.guesses().attempt(w, r, 1); tooMany != nil {
			return base.Caller{}, tooMany
		}
	}
	if err != nil {
		return c, a.Engine.Callers.ExplainWrongKey(r.Context(), alias, authorization, err)
	}
	if r.Header.Get(referrerHeader) != "" {
		a.Engine.APIKeys.NoteOlderScript(c.Tenant)
	}
	return c, nil
}

func (a *API) guesses() guesses { return guesses{a.Guesses} }

// keyHolder authenticates a request that needs the API key.
func (a *API) keyHolder(w http.ResponseWriter, r *http.Request, op *operation.Operation) (base.Caller, error) {
	c, err := a.caller(w, r, op)
	if err != nil {
		return c, err
	}
	return c, c.MustHoldKey()
}

// userIDs reads the ids of the user in a request's path.
func userIDs(r *http.Request) (account core.AccountID, user core.UserID, err error) {
	if account, err = core.ParseAccountID("accountId", r.PathValue("account")); err != nil {
		return "", "", err
	}
	user, err = core.ParseUserID("userId", r.PathValue("user"))
	return account, user, err
}

// anonymous returns the caller of a request without its credentials: they are ignored,
// even if they are wrong (clients 2.3.3). Such a caller needs no operation.
func (a *API) anonymous(w http.ResponseWriter, r *http.Request, _ *operation.Operation) (base.Caller, error) {
	alias, err := core.ParseTenantAlias(r.PathValue("tenant"))
	if err != nil {
		return base.Caller{}, err
	}
	if a.Operator {
		tenant, err := a.Engine.Tenants.ByAlias(r.Context(), alias)
		return base.Caller{Tenant: tenant}, err
	}
	return a.counted(w, r, alias, "", "", a.Engine.Callers.Authenticate)
}
