package api

import (
	"net/http"

	"kith/core"
	"kith/core/referral"
	"kith/core/wire"
)

func (a *API) programRoutes() routes {
	return routes{
		tenantPath + "/programs":           {"GET": a.programs, "POST": a.createProgram},
		tenantPath + "/programs/{program}": {"GET": a.program, "PUT": a.putProgram, "DELETE": a.deleteProgram},

		tenantPath + "/programs/{program}/rewards/{side}/codes": {"GET": a.fuelTank, "POST": a.fillFuelTank},
	}
}

// programs is GET /programs.
func (a *API) programs(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	all, err := a.Engine.Programs(r.Context(), caller.Tenant.Alias)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Programs(all))
	return nil
}

// createProgram is POST /programs.
func (a *API) createProgram(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	p, err := readProgram(w, r, "")
	if err != nil {
		return err
	}
	stored, err := a.Engine.CreateProgram(r.Context(), caller.Tenant.Alias, p)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, wire.Program(stored))
	return nil
}

func readProgram(w http.ResponseWriter, r *http.Request, key core.ProgramKey) (referral.Program, error) {
	body, err := readJSON(w, r)
	if err != nil {
		return referral.Program{}, err
	}
	return wire.ParseProgram(key, body)
}

// programKey authenticates a request about the program in its path. A text that
// cannot be a key is one that no program has.
func (a *API) programKey(w http.ResponseWriter, r *http.Request) (tenant core.TenantAlias, key core.ProgramKey, err error) {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return "", "", err
	}
	if key, err = core.ParseProgramKey("id", r.PathValue("program")); err != nil {
		return "", "", core.NotFound("there is no such program")
	}
	return caller.Tenant.Alias, key, nil
}

// program is GET /programs/{program}.
func (a *API) program(w http.ResponseWriter, r *http.Request) error {
	tenant, key, err := a.programKey(w, r)
	if err != nil {
		return err
	}
	p, err := a.Engine.Program(r.Context(), tenant, key)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Program(p))
	return nil
}

// putProgram is PUT /programs/{program}: the body is all of the program.
func (a *API) putProgram(w http.ResponseWriter, r *http.Request) error {
	tenant, key, err := a.programKey(w, r)
	if err != nil {
		return err
	}
	p, err := readProgram(w, r, key)
	if err != nil {
		return err
	}
	stored, err := a.Engine.UpdateProgram(r.Context(), tenant, key, func(old *referral.Program) error {
		*old = p
		return nil
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Program(stored))
	return nil
}

// deleteProgram is DELETE /programs/{program}.
func (a *API) deleteProgram(w http.ResponseWriter, r *http.Request) error {
	tenant, key, err := a.programKey(w, r)
	if err != nil {
		return err
	}
	if err := a.Engine.DeleteProgram(r.Context(), tenant, key); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// tankOf authenticates a request about the fuel tank in its path.
func (a *API) tankOf(w http.ResponseWriter, r *http.Request) (tenant core.TenantAlias, key core.ProgramKey, side referral.SideKey, err error) {
	if tenant, key, err = a.programKey(w, r); err != nil {
		return "", "", "", err
	}
	if side, err = referral.ParseSideKey("side", r.PathValue("side")); err != nil {
		return "", "", "", wire.NoSuchPath()
	}
	return tenant, key, side, nil
}

// fuelTank is GET of a fuel tank.
func (a *API) fuelTank(w http.ResponseWriter, r *http.Request) error {
	tenant, key, side, err := a.tankOf(w, r)
	if err != nil {
		return err
	}
	tank, err := a.Engine.FuelTank(r.Context(), tenant, key, side)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Tank(tank))
	return nil
}

// fillFuelTank is POST of codes to a fuel tank.
func (a *API) fillFuelTank(w http.ResponseWriter, r *http.Request) error {
	tenant, key, side, err := a.tankOf(w, r)
	if err != nil {
		return err
	}
	body, err := readJSON(w, r)
	if err != nil {
		return err
	}
	codes, err := wire.ParseTankCodes(body)
	if err != nil {
		return err
	}
	tank, err := a.Engine.FillFuelTank(r.Context(), tenant, key, side, codes)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Tank(tank))
	return nil
}
