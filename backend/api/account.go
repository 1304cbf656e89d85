package api

import (
	"net/http"

	"kith/core"
	"kith/core/wire"
)

// syncAccount is POST /accountsync.
func (a *API) syncAccount(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(r)
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
	caller, err := a.keyHolder(r)
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
