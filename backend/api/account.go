package api

import (
	"kith/core"
	"kith/core/operation"
	"kith/core/referral"
	"kith/core/wire"
)

func (a *API) accountRoutes() routes {
	return routes{
		tenantPath + "/accountsync":            {"POST": a.keyed(operation.SyncAccount, with(bodyFor(wire.ParseAccount), a.syncAccount))},
		tenantPath + "/account/{account}":      {"GET": a.keyed(operation.ReadReferrals, with((*call).accountID, a.account))},
		tenantPath + "/open/account/{account}": {"DELETE": a.keyed(operation.EraseAccount, with((*call).accountID, a.deleteAccount))},
	}
}

// syncAccount handles POST /accountsync.
func (a *API) syncAccount(c *call, update referral.AccountUpdate) ([]byte, error) {
	return encode(wire.Account)(a.Engine.Accounts.Sync(c.Context(), c.tenant, update))
}

// account handles GET /account/{account}.
func (a *API) account(c *call, id core.AccountID) ([]byte, error) {
	return encode(wire.Account)(a.Engine.Accounts.ByID(c.Context(), c.tenant, id))
}

// deleteAccount handles DELETE /open/account/{account}.
func (a *API) deleteAccount(c *call, id core.AccountID) ([]byte, error) {
	doNotTrack, err := flag(c.Request, "doNotTrack", false)
	if err != nil {
		return nil, err
	}
	return nil, a.Engine.Admin.Users.DeleteAccount(c.Context(), c.member(), id, doNotTrack)
}

// accountID reads the account id in the path of a call.
func (c *call) accountID() (core.AccountID, error) {
	return core.ParseAccountID("accountId", c.PathValue("account"))
}
