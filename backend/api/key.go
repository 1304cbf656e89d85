package api

import (
	"kith/core/wire"

	"kith/core/operation"
)

func (a *API) keyRoutes() routes {
	const one = tenantPath + "/keys/{name}"
	return routes{
		tenantPath + "/keys": {"GET": a.keyed(operation.ReadKeys, a.keys), "POST": a.keyed(operation.CreateKey, created(a.createKey))},
		one:                  {"DELETE": a.keyed(operation.RevokeKey, a.revokeKey)},
		one + "/rotate":      {"POST": a.keyed(operation.RotateKey, a.rotateKey)},

		tenantPath + "/sftp/keys":               {"GET": a.keyed(operation.ReadIntegrations, a.sftpKeys), "POST": a.keyed(operation.AddSFTPKey, created(a.addSFTPKey))},
		tenantPath + "/sftp/keys/{fingerprint}": {"DELETE": a.keyed(operation.RemoveSFTPKey, a.removeSFTPKey)},
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
	return encodeBoth(wire.NewAPIKey)(a.Engine.Admin.APIKeys.Create(c.Context(), c.member(), in.Name, in.Role, in.Expires))
}

// rotateKey handles POST /keys/{name}/rotate.
func (a *API) rotateKey(c *call) ([]byte, error) {
	overlap, err := decode(c, wire.ParseOverlap)
	if err != nil {
		return nil, err
	}
	return encodeBoth(wire.NewAPIKey)(a.Engine.Admin.APIKeys.Rotate(c.Context(), c.member(), c.PathValue("name"), overlap))
}

// revokeKey handles DELETE /keys/{name}.
func (a *API) revokeKey(c *call) ([]byte, error) {
	return nil, a.Engine.Admin.APIKeys.Revoke(c.Context(), c.member(), c.PathValue("name"), false)
}

// sftpKeys handles GET /sftp/keys.
func (a *API) sftpKeys(c *call) ([]byte, error) {
	found, err := a.Engine.SFTPKeys.List(c.Context(), c.tenant)
	if err != nil {
		return nil, err
	}
	keys := make([]wire.SFTPKey, len(found))
	for i, k := range found {
		keys[i] = wire.SFTPKey(k)
	}
	return wire.SFTPKeys(keys, (*wire.SFTPServer)(a.Engine.SFTPKeys.Server)), nil
}

// addSFTPKey handles POST /sftp/keys.
func (a *API) addSFTPKey(c *call) ([]byte, error) {
	key, err := decode(c, wire.ParseSFTPKey)
	if err != nil {
		return nil, err
	}
	added, err := a.Engine.Admin.SFTPKeys.Add(c.Context(), c.member(), key)
	if err != nil {
		return nil, err
	}
	return wire.NewSFTPKey(wire.SFTPKey(added)), nil
}

// removeSFTPKey handles DELETE /sftp/keys/{fingerprint}.
func (a *API) removeSFTPKey(c *call) ([]byte, error) {
	return nil, a.Engine.Admin.SFTPKeys.Remove(c.Context(), c.member(), c.PathValue("fingerprint"))
}
