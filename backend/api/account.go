package api

import (
	"net/http"

	"kith/core"
	"kith/core/wire"
)

func (a *API) accountRoutes() routes {
	return routes{
		tenantPath + "/accountsync":            {"POST": a.syncAccount},
		tenantPath + "/account/{account}":      {"GET": a.account},
		tenantPath + "/open/account/{account}": {"DELETE": a.deleteAccount},
	}
}

// syncAccount is POST /accountsync.
func (a *API) syncAccount(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	body, err := readJSON(w, r)
	if err != nil {
		return err
	}
	update, err := wire.ParseAccount(body)
	if err != nil {
		return err
	}
	account, err := a.Engine.SyncAccount(r.Context(), caller.Tenant.Alias, update)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Account(account))
	return nil
}

// account is GET /account/{account}.
func (a *API) account(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	id, err := core.ParseAccountID("accountId", r.PathValue("account"))
	if err != nil {
		return err
	}
	account, err := a.Engine.Account(r.Context(), caller.Tenant.Alias, id)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Account(account))
	return nil
}

// deleteAccount is DELETE /open/account/{account}.
func (a *API) deleteAccount(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	id, err := core.ParseAccountID("accountId", r.PathValue("account"))
	if err != nil {
		return err
	}
	doNotTrack, err := flag(r, "doNotTrack", false)
	if err != nil {
		return err
	}
	if err := a.Engine.DeleteAccount(r.Context(), caller.Tenant.Alias, id, doNotTrack); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
