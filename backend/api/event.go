package api

import (
	"net/http"

	"kith/core/auth"
	"kith/core/wire"
)

func (a *API) eventRoutes() routes {
	return routes{userPath + "/events": {"POST": a.events}}
}

// events is POST of user events.
func (a *API) events(w http.ResponseWriter, r *http.Request) error {
	caller, account, user, err := a.userOf(w, r, auth.TrackEvents)
	if err != nil {
		return err
	}
	body, err := readJSON(w, r)
	if err != nil {
		return err
	}
	batch, err := wire.ParseEvents(account, user, body)
	if err != nil {
		return err
	}
	if batch, err = a.Engine.LogEvents(r.Context(), caller, batch); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Events(batch))
	return nil
}
