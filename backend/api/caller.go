package api

import (
	"context"
	"net/http"
	"strings"

	"kith/backend/app/base"
	"kith/core"
	"kith/core/auth"
)

// userTokenHeader carries a user token beside Authorization (clients 2.2.3).
const userTokenHeader = "X-SaaSquatch-User-Token" // #nosec G101 -- the name of a header

// caller authenticates a request to the tenant in its path, and refuses an API key
// whose role does not permit it.
func (a *API) caller(w http.ResponseWriter, r *http.Request) (base.Caller, error) {
	alias, err := core.ParseTenantAlias(r.PathValue("tenant"))
	if err != nil {
		return base.Caller{}, err
	}
	c, err := a.authenticate(w, r, alias, r.Header.Get("Authorization"), r.Header.Get(userTokenHeader))
	if err != nil {
		return c, err
	}
	return c, c.Require(operationOf(r))
}

// maybeAnonymous is caller for a request that may be about a user who has no ids; see
// callers.Callers.AuthenticateAnonymous.
func (a *API) maybeAnonymous(w http.ResponseWriter, r *http.Request) (base.Caller, error) {
	alias, err := core.ParseTenantAlias(r.PathValue("tenant"))
	if err != nil {
		return base.Caller{}, err
	}
	c, err := a.counted(w, r, alias, r.Header.Get("Authorization"), r.Header.Get(userTokenHeader), a.Engine.Callers.AuthenticateAnonymous)
	if err != nil {
		return c, err
	}
	return c, c.Require(operationOf(r))
}

// operationOf is what a request asks for, as roles name it.
func operationOf(r *http.Request) auth.Operation {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return auth.Operation(method + " " + strings.TrimPrefix(r.Pattern, tenantPath))
}

// authenticate tells who calls, and counts the call.
func (a *API) authenticate(w http.ResponseWriter, r *http.Request, alias core.TenantAlias, authorization, userToken string) (base.Caller, error) {
	return a.counted(w, r, alias, authorization, userToken, a.Engine.Callers.Authenticate)
}

type authenticator func(ctx context.Context, alias core.TenantAlias, authorization, userToken string) (base.Caller, error)

// counted authenticates a call. One that may be a guess is counted, and refused when
// its network made too many.
func (a *API) counted(w http.ResponseWriter, r *http.Request, alias core.TenantAlias, authorization, userToken string, authenticate authenticator) (base.Caller, error) {
	before := a.isGuess(r, alias, authorization, userToken)
	if before {
		if tooMany := a.guesses().attempt(w, r, 1); tooMany != nil {
			return base.Caller{}, tooMany
		}
	}
	c, err := authenticate(r.Context(), alias, authorization, userToken)
	if !before && mayGuess(c, err) {
		if tooMany := a.guesses().attempt(w, r, 1); tooMany != nil {
			return base.Caller{}, tooMany
		}
	}
	if err != nil {
		return c, a.Engine.Callers.ExplainWrongKey(r.Context(), alias, authorization, err)
	}
	return c, nil
}

func (a *API) guesses() guesses { return guesses{a.Guesses} }

// keyHolder authenticates a request that only the API key may make.
func (a *API) keyHolder(w http.ResponseWriter, r *http.Request) (base.Caller, error) {
	c, err := a.caller(w, r)
	if err != nil {
		return c, err
	}
	return c, c.MustHoldKey()
}

// userIDs reads the ids in a request's path.
func userIDs(r *http.Request) (account core.AccountID, user core.UserID, err error) {
	if account, err = core.ParseAccountID("accountId", r.PathValue("account")); err != nil {
		return "", "", err
	}
	user, err = core.ParseUserID("userId", r.PathValue("user"))
	return account, user, err
}

// anybody is the caller of a request whose credentials, if it has any, mean
// nothing (clients 2.3.3).
func (a *API) anybody(w http.ResponseWriter, r *http.Request) (base.Caller, error) {
	alias, err := core.ParseTenantAlias(r.PathValue("tenant"))
	if err != nil {
		return base.Caller{}, err
	}
	return a.authenticate(w, r, alias, "", "")
}
