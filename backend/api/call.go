package api

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"

	"kith/backend/app/base"
	"kith/core"
	"kith/core/auth"
)

// call is a request whose caller is known.
type call struct {
	*http.Request
	w      http.ResponseWriter
	caller base.Caller
	tenant core.TenantAlias
	// account and user are those that the path names, in a call about a user.
	account core.AccountID
	user    core.UserID
	// status is that of the answer; 0: 200, or 204 if it has no body.
	status int
}

// action reads what a call asks for, runs the use case and returns the body of
// the answer, or nil if that has none.
type action func(*call) ([]byte, error)

// keyed is the handler of an action that only the API key may ask for.
func (a *API) keyed(do action) handler { return answerBy(a.keyHolder, do) }

// open is the handler of an action that checks by itself who may call it.
func (a *API) open(do action) handler { return answerBy(a.caller, do) }

// public is the handler of an action that everybody may ask for.
func (a *API) public(do action) handler { return answerBy(a.anybody, do) }

// keyedUser is the handler of an action on the user in the path that only the
// API key may ask for.
func (a *API) keyedUser(do action) handler {
	return a.keyed(func(c *call) ([]byte, error) {
		if err := c.readUser(); err != nil {
			return nil, err
		}
		return do(c)
	})
}

// userAt is the handler of an action on the user in the path, for whom the
// tenant's secure mode permits it at that endpoint.
func (a *API) userAt(e auth.Endpoint, do action) handler {
	return a.open(func(c *call) ([]byte, error) {
		if err := c.readUser(); err != nil {
			return nil, err
		}
		if err := c.caller.May(e, c.account, c.user); err != nil {
			return nil, err
		}
		return do(c)
	})
}

// created has an action answered by 201.
func created(do action) action {
	return func(c *call) ([]byte, error) {
		c.status = http.StatusCreated
		return do(c)
	}
}

// answerBy is the handler of an action for callers whom authenticate admits.
func answerBy(authenticate func(http.ResponseWriter, *http.Request) (base.Caller, error), do action) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		caller, err := authenticate(w, r)
		if err != nil {
			return err
		}
		c := &call{Request: r, w: w, caller: caller, tenant: caller.Tenant.Alias}
		body, err := do(c)
		if err != nil {
			return err
		}
		if body == nil {
			w.WriteHeader(cmp.Or(c.status, http.StatusNoContent))
			return nil
		}
		writeJSON(w, cmp.Or(c.status, http.StatusOK), body)
		return nil
	}
}

// encode returns a function that writes the result of a use case, unless that
// failed: encode(wire.Account)(a.Engine.Account(…)).
func encode[T any](write func(T) []byte) func(T, error) ([]byte, error) {
	return func(found T, err error) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		return write(found), nil
	}
}

// encodeBoth is encode for two results, such as a page of a list and its total.
func encodeBoth[T, U any](write func(T, U) []byte) func(T, U, error) ([]byte, error) {
	return func(one T, other U, err error) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		return write(one, other), nil
	}
}

// decode reads the body of a call.
func decode[T any](c *call, parse func([]byte) (T, error)) (in T, err error) {
	body, err := readJSON(c.w, c.Request)
	if err != nil {
		return in, err
	}
	return parse(body)
}

func (c *call) readUser() (err error) {
	c.account, c.user, err = userIDs(c.Request)
	return err
}

// Sizes of a page (clients 6.3.4: REST lists default to 10).
const (
	defaultLimit = 10
	maxLimit     = 1000
	maxOffset    = 1 << 31
)

// page reads limit and offset.
func (c *call) page() (p base.Page, err error) {
	q := c.URL.Query()
	if p.Limit, err = count(q, "limit", defaultLimit, maxLimit); err != nil {
		return p, err
	}
	p.Offset, err = count(q, "offset", 0, maxOffset)
	return p, err
}

func count(q url.Values, name string, unset, most int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return unset, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, core.Invalid(name, "must be a whole number from 0 to "+strconv.Itoa(most))
	}
	return n, nil
}
