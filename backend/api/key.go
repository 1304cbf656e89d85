package api

import (
	"net/http"

	"kith/core/wire"
)

func (a *API) keyRoutes() routes {
	const one = tenantPath + "/keys/{name}"
	return routes{
		tenantPath + "/keys": {"GET": a.keys, "POST": a.createKey},
		one:                  {"DELETE": a.revokeKey},
		one + "/rotate":      {"POST": a.rotateKey},
	}
}

// keys is GET /keys.
func (a *API) keys(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	found, err := a.Engine.APIKeys(r.Context(), caller.Tenant.Alias)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.APIKeys(found))
	return nil
}

// createKey is POST /keys.
func (a *API) createKey(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	body, err := readJSON(w, r)
	if err != nil {
		return err
	}
	in, err := wire.ParseNewKey(body)
	if err != nil {
		return err
	}
	made, secret, err := a.Engine.CreateKey(r.Context(), caller.Tenant.Alias, in.Name, in.Role, in.Expires)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, wire.NewAPIKey(made, secret))
	return nil
}

// rotateKey is POST /keys/{name}/rotate.
func (a *API) rotateKey(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	body, err := readJSON(w, r)
	if err != nil {
		return err
	}
	overlap, err := wire.ParseOverlap(body)
	if err != nil {
		return err
	}
	made, secret, err := a.Engine.RotateKey(r.Context(), caller.Tenant.Alias, r.PathValue("name"), overlap)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.NewAPIKey(made, secret))
	return nil
}

// revokeKey is DELETE /keys/{name}.
func (a *API) revokeKey(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	if err := a.Engine.RevokeKey(r.Context(), caller.Tenant.Alias, r.PathValue("name"), false); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
