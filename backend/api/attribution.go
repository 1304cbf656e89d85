package api

import (
	"net/http"

	"kith/core"
	"kith/core/wire"
)

func (a *API) attributionRoutes() routes {
	return routes{tenantPath + "/attributions": {"GET": a.decisions}}
}

// decisions is GET /attributions: why an account was, or was not, attributed.
func (a *API) decisions(w http.ResponseWriter, r *http.Request) error {
	caller, q, p, err := a.lister(w, r)
	if err != nil {
		return err
	}
	found, total, err := a.Engine.Decisions(r.Context(), caller.Tenant.Alias, core.AccountID(q.Get("accountId")), p)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Decisions(found, total))
	return nil
}
