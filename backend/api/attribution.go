package api

import (
	"kith/core"
	"kith/core/wire"
)

func (a *API) attributionRoutes() routes {
	return routes{tenantPath + "/attributions": {"GET": a.keyed(a.decisions)}}
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
