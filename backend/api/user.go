package api

import (
	"net/http"
	"strings"

	"kith/backend/program"
	"kith/core/wire"
)

// identify is PUT (upsert) and POST (create) of a user.
func (a *API) identify(w http.ResponseWriter, r *http.Request) error {
	caller, account, user, err := a.userOf(r)
	if err != nil {
		return err
	}
	body, err := readJSON(w, r)
	if err != nil {
		return err
	}
	update, err := wire.ParseUser(caller.Tenant.Alias, account, user, body)
	if err != nil {
		return err
	}
	if caller.User != nil {
		if err := wire.CheckSigned(*caller.User, body); err != nil {
			return err
		}
	}
	create := r.Method == http.MethodPost
	done, err := a.Engine.Identify(r.Context(), caller.Tenant.Alias, program.Identification{
		Update: update, Create: create, Cookie: cookies(r),
	})
	if err != nil {
		return err
	}
	status := http.StatusOK
	if create {
		status = http.StatusCreated
	}
	writeJSON(w, status, wire.User(done.User, done.Account, done.ReferredBy))
	return nil
}

// user is GET of a user.
func (a *API) user(w http.ResponseWriter, r *http.Request) error {
	caller, account, user, err := a.userOf(r)
	if err != nil {
		return err
	}
	found, err := a.Engine.User(r.Context(), caller.Tenant.Alias, account, user)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.User(found.User, found.Account, found.ReferredBy))
	return nil
}

// cookies is the request's Cookie header; HTTP/2 clients split it into several.
func cookies(r *http.Request) string { return strings.Join(r.Header.Values("Cookie"), "; ") }
