package api

import "kith/core/wire"

func (a *API) keyRoutes() routes {
	const one = tenantPath + "/keys/{name}"
	return routes{
		tenantPath + "/keys": {"GET": a.keyed(a.keys), "POST": a.keyed(created(a.createKey))},
		one:                  {"DELETE": a.keyed(a.revokeKey)},
		one + "/rotate":      {"POST": a.keyed(a.rotateKey)},
	}
}

// keys handles GET /keys.
func (a *API) keys(c *call) ([]byte, error) {
	return encode(wire.APIKeys)(a.Engine.APIKeys.List(c.Context(), c.tenant))
}

// createKey handles POST /keys.
func (a *API) createKey(c *call) ([]byte, error) {
	in, err := decode(c, wire.ParseNewKey)
	if err != nil {
		return nil, err
	}
	return encodeBoth(wire.NewAPIKey)(a.Engine.APIKeys.Create(c.Context(), c.tenant, in.Name, in.Role, in.Expires))
}

// rotateKey handles POST /keys/{name}/rotate.
func (a *API) rotateKey(c *call) ([]byte, error) {
	overlap, err := decode(c, wire.ParseOverlap)
	if err != nil {
		return nil, err
	}
	return encodeBoth(wire.NewAPIKey)(a.Engine.APIKeys.Rotate(c.Context(), c.tenant, c.PathValue("name"), overlap))
}

// revokeKey handles DELETE /keys/{name}.
func (a *API) revokeKey(c *call) ([]byte, error) {
	return nil, a.Engine.APIKeys.Revoke(c.Context(), c.tenant, c.PathValue("name"), false)
}
