package api

import (
	"net/http"

	"kith/core"
	"kith/core/wire"
)

// code is GET /code/{code}.
func (a *API) code(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(r)
	if err != nil {
		return err
	}
	// A text that cannot be a code is one that nobody has.
	code, err := core.ParseReferralCode("code", r.PathValue("code"))
	if err != nil {
		return wire.UnknownCode()
	}
	info, err := a.Engine.LookupCode(r.Context(), caller.Tenant, code)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Code(info))
	return nil
}
