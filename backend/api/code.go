package api

import (
	"net/http"

	"kith/core"
	"kith/core/auth"
	"kith/core/wire"
)

func (a *API) codeRoutes() routes {
	return routes{
		tenantPath + "/code/{code}":                                    {"GET": a.code},
		tenantPath + "/open/code/{code}":                               {"GET": a.openCode},
		tenantPath + "/open/code/{code}/account/{account}/user/{user}": {"POST": a.applyCode},
	}
}

// code is GET /code/{code}.
func (a *API) code(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	code, err := codeOf(r)
	if err != nil {
		return err
	}
	info, err := a.Engine.LookupCode(r.Context(), caller.Tenant, code)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Code(info))
	return nil
}

// openCode is GET /open/code/{code}, for anybody.
func (a *API) openCode(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.anybody(w, r)
	if err != nil {
		return err
	}
	code, err := codeOf(r)
	if err != nil {
		return err
	}
	info, err := a.Engine.OpenCode(r.Context(), caller.Tenant, code)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Code(info))
	return nil
}

// applyCode is POST /open/code/{code}/account/{account}/user/{user}.
func (a *API) applyCode(w http.ResponseWriter, r *http.Request) error {
	caller, account, user, err := a.userOf(w, r, auth.ApplyCode)
	if err != nil {
		return err
	}
	body, err := readJSON(w, r)
	if err == nil {
		err = wire.ParseNothing(body)
	}
	if err != nil {
		return err
	}
	code, err := codeOf(r)
	if err != nil {
		return err
	}
	if err := a.guesses().mayTry(w, r, caller); err != nil {
		return err
	}
	info, err := a.Engine.ApplyCode(r.Context(), caller.Tenant, code, account, user)
	if err != nil {
		return a.guesses().unknownCode(w, r, caller, err)
	}
	writeJSON(w, http.StatusOK, wire.Code(info))
	return nil
}

// codeOf reads the code in a request's path. A text that cannot be a code is one
// that nobody has.
func codeOf(r *http.Request) (core.ReferralCode, error) {
	code, err := core.ParseReferralCode("code", r.PathValue("code"))
	if err != nil {
		return "", wire.UnknownCode()
	}
	return code, nil
}
