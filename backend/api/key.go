package api

import (
	"kith/core"
	"kith/core/operation"
	"kith/core/wire"
)

func (a *API) keyRoutes() routes {
	const one = tenantPath + "/keys/{name}"
	return routes{
		tenantPath + "/keys": {"GET": a.keyed(operation.ReadKeys, a.keys), "POST": a.keyed(operation.CreateKey, created(with(body(wire.ParseNewKey), a.createKey)))},
		one:                  {"DELETE": a.keyed(operation.RevokeKey, a.revokeKey)},
		one + "/rotate":      {"POST": a.keyed(operation.RotateKey, with(body(wire.ParseOverlap), a.rotateKey))},

		tenantPath + "/sftp/keys":               {"GET": a.keyed(operation.ReadIntegrations, a.sftpKeys), "POST": a.keyed(operation.AddSFTPKey, created(with(body(wire.ParseSFTPKey), a.addSFTPKey)))},
		tenantPath + "/sftp/keys/{fingerprint}": {"DELETE": a.keyed(operation.RemoveSFTPKey, a.removeSFTPKey)},
	}
}

// keys handles GET /keys.
func (a *API) keys(c *call) ([]byte, error) {
	return encode(wire.APIKeys)(a.Engine.APIKeys.List(c.Context(), c.tenant))
}

// createKey handles POST /keys.
func (a *API) createKey(c *call, in wire.NewKey) ([]byte, error) {
	return encodeBoth(wire.NewAPIKey)(a.Engine.Admin.APIKeys.Create(c.Context(), c.member(), in.Name, in.Role, in.Expires))
}

// rotateKey handles POST /keys/{name}/rotate.
func (a *API) rotateKey(c *call, overlap core.Time) ([]byte, error) {
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
func (a *API) addSFTPKey(c *call, key string) ([]byte, error) {
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
