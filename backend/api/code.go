package api

import (
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/operation"
	"kith/core/wire"
)

func (a *API) codeRoutes() routes {
	return routes{
		tenantPath + "/code/{code}":                                    {"GET": a.keyed(operation.LookUpCode, a.code)},
		tenantPath + "/open/code/{code}":                               {"GET": a.public(a.openCode)},
		tenantPath + "/open/code/{code}/account/{account}/user/{user}": {"POST": a.userAt(operation.ApplyCode, auth.ApplyCode, a.applyCode)},
	}
}

// code handles GET /code/{code}.
func (a *API) code(c *call) ([]byte, error) {
	return a.found(c)(a.Engine.Codes.Lookup(c.Context(), c.caller.Tenant, codeOf(c)))
}

// openCode handles GET /open/code/{code}.
func (a *API) openCode(c *call) ([]byte, error) {
	return a.found(c)(a.Engine.Codes.LookupPublic(c.Context(), c.caller.Tenant, codeOf(c)))
}

// found returns the answer to a look-up. An edge may keep it if it names no person, and not the
// code in another spelling.
func (a *API) found(c *call) func(wire.CodeInfo, error) ([]byte, error) {
	return func(info wire.CodeInfo, err error) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		if info.ReferrerName() == "" && string(info.Code) == c.PathValue("code") {
			t := c.caller.Tenant
			age := auth.APIKey{Expires: c.caller.KeyExpires}.AtMost(t.LinkMaxAge, a.Engine.Now())
			giveKept(c.w, c.Request, wire.Kept{Tenant: t.Alias, MaxAge: age, Texts: wire.CodeTexts(info)})
		}
		return wire.Code(info), nil
	}
}

// applyCode handles POST /open/code/{code}/account/{account}/user/{user}.
func (a *API) applyCode(c *call) ([]byte, error) {
	body, err := readJSON(c.w, c.Request)
	if err == nil {
		err = wire.ParseNothing(body)
	}
	if err != nil {
		return nil, err
	}
	if err := a.guesses().mayTry(c.w, c.Request, c.caller); err != nil {
		return nil, err
	}
	info, err := a.Engine.Codes.Apply(c.Context(), c.caller.Tenant, codeOf(c), c.account, c.user)
	if err != nil {
		return nil, a.guesses().unknownCode(c.w, c.Request, c.caller, err)
	}
	return wire.Code(info), nil
}

// codeOf reads the code in the path, as a person typed it; see link.MeantCode.
func codeOf(c *call) core.ReferralCode { return link.MeantCode(c.tenant, c.PathValue("code")) }
