package api

import (
	"kith/core"
	"kith/core/wire"
)

func (a *API) attributionRoutes() routes {
	return routes{
		tenantPath + "/attributions":         {"GET": a.keyed(a.decisions)},
		tenantPath + "/attributions/unknown": {"GET": a.keyed(a.unknownCodes)},
	}
}

// decisions handles GET /attributions: for each code of an account, why the account was
// or was not attributed.
func (a *API) decisions(c *call) ([]byte, error) {
	p, err := c.page()
	if err != nil {
		return nil, err
	}
	account := core.AccountID(c.URL.Query().Get("accountId"))
	return encodeBoth(wire.Decisions)(a.Engine.Referrals.Decisions(c.Context(), c.tenant, account, p))
}

// unknownCodes handles GET /attributions/unknown: the codes that people gave and no user owns.
func (a *API) unknownCodes(c *call) ([]byte, error) {
	return encode(wire.UnknownCodes)(a.Engine.Codes.Unknown(c.Context(), c.tenant))
}
