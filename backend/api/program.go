package api

import (
	"kith/core"
	"kith/core/operation"
	"kith/core/referral"
	"kith/core/wire"
)

func (a *API) programRoutes() routes {
	const one = tenantPath + "/programs/{program}"
	return routes{
		tenantPath + "/programs": {"GET": a.keyed(operation.ReadPrograms, a.programs), "POST": a.keyed(operation.CreateProgram, created(a.createProgram))},
		one:                      {"GET": a.keyed(operation.ReadPrograms, with((*call).programKey, a.program)), "PUT": a.keyed(operation.ChangeProgram, with((*call).programKey, a.putProgram)), "DELETE": a.keyed(operation.DeleteProgram, with((*call).programKey, a.deleteProgram))},

		one + "/try":      {"POST": a.keyed(operation.ReadPrograms, with((*call).programKey, a.tryProgram))},
		one + "/versions": {"GET": a.keyed(operation.ReadPrograms, with((*call).programKey, a.programVersions))},

		one + "/rewards/{side}/codes": {"GET": a.keyed(operation.ReadPrograms, with((*call).programKey, a.fuelTank)), "POST": a.keyed(operation.FillFuelTank, with((*call).programKey, a.fillFuelTank))},
	}
}

// programs handles GET /programs.
func (a *API) programs(c *call) ([]byte, error) {
	return encode(wire.Programs)(a.Engine.Programs.List(c.Context(), c.tenant))
}

// createProgram handles POST /programs.
func (a *API) createProgram(c *call) ([]byte, error) {
	p, err := readProgram(c, "")
	if err != nil {
		return nil, err
	}
	return encode(wire.Program)(a.Engine.Admin.Programs.Create(c.Context(), c.member(), p))
}

// readProgram reads the program in the body of a call; key is its key in the path, or "".
func readProgram(c *call, key core.ProgramKey) (referral.Program, error) {
	return decode(c, func(body []byte) (referral.Program, error) { return wire.ParseProgram(key, body) })
}

// programKey reads the program's key in the path of a call. A text that is not a valid
// key gets the answer to an unknown program.
func (c *call) programKey() (core.ProgramKey, error) {
	key, err := core.ParseProgramKey("id", c.PathValue("program"))
	if err != nil {
		return "", core.NotFound("there is no such program")
	}
	return key, nil
}

// program handles GET /programs/{program}.
func (a *API) program(c *call, key core.ProgramKey) ([]byte, error) {
	return encode(wire.Program)(a.Engine.Programs.ByKey(c.Context(), c.tenant, key))
}

// putProgram handles PUT /programs/{program}. The body replaces the whole program.
func (a *API) putProgram(c *call, key core.ProgramKey) ([]byte, error) {
	p, err := readProgram(c, key)
	if err != nil {
		return nil, err
	}
	return encode(wire.Program)(a.Engine.Admin.Programs.Update(c.Context(), c.member(), key, func(old *referral.Program) error {
		*old = p
		return nil
	}))
}

// deleteProgram handles DELETE /programs/{program}.
func (a *API) deleteProgram(c *call, key core.ProgramKey) ([]byte, error) {
	return nil, a.Engine.Admin.Programs.Delete(c.Context(), c.member(), key)
}

// tryProgram handles POST /programs/{program}/try.
func (a *API) tryProgram(c *call, key core.ProgramKey) ([]byte, error) {
	trial, err := decode(c, wire.ParseTrial)
	if err != nil {
		return nil, err
	}
	d, steps, err := a.Engine.Orders.Try(c.Context(), c.tenant, key, trial)
	if err != nil {
		return nil, err
	}
	return wire.Tried(d, steps), nil
}

// programVersions handles GET /programs/{program}/versions.
func (a *API) programVersions(c *call, key core.ProgramKey) ([]byte, error) {
	return encode(wire.ProgramVersions)(a.Engine.Programs.Versions(c.Context(), c.tenant, key))
}

// side reads the side of the fuel tank in the path of a call.
func (c *call) side() (referral.SideKey, error) {
	side, err := referral.ParseSideKey("side", c.PathValue("side"))
	if err != nil {
		return "", wire.NoSuchPath()
	}
	return side, nil
}

// fuelTank handles GET of a fuel tank.
func (a *API) fuelTank(c *call, key core.ProgramKey) ([]byte, error) {
	side, err := c.side()
	if err != nil {
		return nil, err
	}
	return encode(wire.Tank)(a.Engine.FuelTanks.Level(c.Context(), c.tenant, key, side))
}

// fillFuelTank handles POST of codes to a fuel tank.
func (a *API) fillFuelTank(c *call, key core.ProgramKey) ([]byte, error) {
	side, err := c.side()
	if err != nil {
		return nil, err
	}
	codes, err := decode(c, wire.ParseTankCodes)
	if err != nil {
		return nil, err
	}
	return encode(wire.Tank)(a.Engine.Admin.Programs.Fill(c.Context(), c.member(), key, side, codes))
}
