package api

import (
	"net/http"

	"kith/backend/program"
	"kith/core"
)

// userTokenHeader carries a user token beside Authorization (reference, 2.2).
const userTokenHeader = "X-SaaSquatch-User-Token"

// caller authenticates a request to the tenant in its path.
func (a *API) caller(r *http.Request) (program.Caller, error) {
	alias, err := core.ParseTenantAlias(r.PathValue("tenant"))
	if err != nil {
		return program.Caller{}, err
	}
	return a.Engine.Authenticate(r.Context(), alias, r.Header.Get("Authorization"), r.Header.Get(userTokenHeader))
}

// keyHolder authenticates a request that only the API key may make.
func (a *API) keyHolder(r *http.Request) (program.Caller, error) {
	c, err := a.caller(r)
	if err != nil {
		return c, err
	}
	return c, c.MustHoldKey()
}

// userOf authenticates a request about the user in its path, made with the API
// key or by that user.
func (a *API) userOf(r *http.Request) (c program.Caller, account core.AccountID, user core.UserID, err error) {
	if c, err = a.caller(r); err != nil {
		return c, "", "", err
	}
	if account, err = core.ParseAccountID("accountId", r.PathValue("account")); err != nil {
		return c, "", "", err
	}
	if user, err = core.ParseUserID("userId", r.PathValue("user")); err != nil {
		return c, "", "", err
	}
	return c, account, user, c.MustSpeakFor(account, user)
}
