package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"kith/backend/app/base"
	"kith/backend/store/answerdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/wire"
)

// call is a request whose caller was authenticated.
type call struct {
	*http.Request
	w      http.ResponseWriter
	caller base.Caller
	tenant core.TenantAlias
	// account and user are the ids in the path; empty for a call that is not about a user.
	account core.AccountID
	user    core.UserID
	// status is the status of the answer; 0: 200, or 204 without a body.
	status int
}

// member returns a caller with an API key as the use cases of members take it.
func (c *call) member() people.Caller { return c.caller.Member(seenIP(c.Request)) }

// who returns the user in the path.
func (c *call) who() referral.Identity { return referral.Identity{Account: c.account, User: c.user} }

// action reads the arguments of a call, runs the use case and returns the body of the
// answer; nil: no body.
type action func(*call) ([]byte, error)

// keyed returns the handler of an action that needs an API key whose role permits op.
func (a *API) keyed(op *operation.Operation, do action) handler { return answerBy(a.keyHolder, op, do) }

// open returns the handler of an action that checks itself which callers without an API key may
// use it. The role of a key must permit op.
func (a *API) open(op *operation.Operation, do action) handler { return answerBy(a.caller, op, do) }

// public returns the handler of an action that needs no credentials and ignores those
// that were sent.
func (a *API) public(do action) handler { return answerBy(a.anonymous, nil, do) }

// keyedUser is keyed for an action on the user in the path.
func (a *API) keyedUser(op *operation.Operation, do action) handler {
	return a.keyed(op, func(c *call) ([]byte, error) {
		if err := c.readUser(); err != nil {
			return nil, err
		}
		return do(c)
	})
}

// userAt is open for an action on the user in the path. The tenant's secure mode for the
// endpoint decides which callers may use it.
func (a *API) userAt(op *operation.Operation, e auth.Endpoint, do action) handler {
	return a.open(op, func(c *call) ([]byte, error) {
		if err := c.readUser(); err != nil {
			return nil, err
		}
		if err := c.caller.May(e, c.account, c.user); err != nil {
			return nil, err
		}
		return do(c)
	})
}

// created makes the status of an action 201.
func created(do action) action {
	return func(c *call) ([]byte, error) {
		c.status = http.StatusCreated
		return do(c)
	}
}

// with returns the action of a use case on what read takes from the request, such as its page,
// the key in its path or its body.
func with[T any](read func(*call) (T, error), do func(*call, T) ([]byte, error)) action {
	return func(c *call) ([]byte, error) {
		in, err := read(c)
		if err != nil {
			return nil, err
		}
		return do(c, in)
	}
}

// answerBy returns the handler of an action for the callers that authenticate accepts for op.
func answerBy(authenticate func(http.ResponseWriter, *http.Request, *operation.Operation) (base.Caller, error), op *operation.Operation, do action) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		caller, err := authenticate(w, r, op)
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

// encode returns a function that writes the result of a use case, or returns its error:
// encode(wire.Account)(a.Engine.Accounts.ByID(…)).
func encode[T any](write func(T) []byte) func(T, error) ([]byte, error) {
	return func(found T, err error) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		return write(found), nil
	}
}

// encodeBoth is encode for two results, such as a page of a list and its total count.
func encodeBoth[T, U any](write func(T, U) []byte) func(T, U, error) ([]byte, error) {
	return func(one T, other U, err error) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		return write(one, other), nil
	}
}

// decode reads the JSON body of a call and parses it.
func decode[T any](c *call, parse func([]byte) (T, error)) (in T, err error) {
	body, err := readJSON(c.w, c.Request)
	if err != nil {
		return in, err
	}
	return parse(body)
}

// body returns decode with a parser, for with.
func body[T any](parse func([]byte) (T, error)) func(*call) (T, error) {
	return func(c *call) (T, error) { return decode(c, parse) }
}

// bodyFor is body for a parser that needs the tenant.
func bodyFor[T any](parse func(core.TenantAlias, []byte) (T, error)) func(*call) (T, error) {
	return func(c *call) (T, error) {
		return decode(c, func(body []byte) (T, error) { return parse(c.tenant, body) })
	}
}

// readOptional reads a JSON body that may be empty.
func readOptional(c *call) ([]byte, error) {
	body, err := readBody(c.w, c.Request, wire.MaxBody)
	if err == nil && len(body) > 0 {
		err = wire.CheckJSONType(c.Header.Get("Content-Type"))
	}
	return withoutMark(body), err
}

// onceHeader says what was done with the idempotency key of a call: "kept" (the answer
// will be repeated), "repeated" (the call was not made again), or "ignored". Errors have none.
const onceHeader = "Idempotency"

// keyHeader returns the values of the header with the idempotency key, joined by commas: so
// several are no key.
func (c *call) keyHeader() (value string, sent bool) {
	all := c.Header.Values(core.KeyHeader)
	return strings.Join(all, ","), len(all) > 0
}

// once makes a call that moves money by do, and returns its answer. With the header
// Idempotency-Key it is made at most once for each key of the tenant; see base.Base.Once. body
// is the body of the call, and answer encodes what do returns from its transaction.
func once[T any](a *API, c *call, body []byte, answer func(T) answerdb.Answer, do func(context.Context) (T, error)) ([]byte, error) {
	header, sent := c.keyHeader()
	if !sent {
		done, err := do(c.Context())
		return answer(done).JSON, err
	}
	key, err := core.ParseKeyHeader(header)
	if err != nil {
		return nil, err
	}
	digest := sha256.New()
	digest.Write([]byte(c.Method + " " + c.URL.EscapedPath() + "\n"))
	digest.Write(body)
	kept, repeated, err := a.Engine.Base.Once(c.Context(), c.tenant, base.Once{
		Key: key, Digest: hex.EncodeToString(digest.Sum(nil)),
		Answer: func(value any) answerdb.Answer { return answer(value.(T)) },
	}, func(ctx context.Context) error {
		_, err := do(ctx)
		return err
	})
	c.w.Header().Set(onceHeader, "kept")
	if repeated {
		c.w.Header().Set(onceHeader, "repeated")
	}
	return kept, err
}

// readUser reads the ids of the user in the path.
func (c *call) readUser() (err error) {
	c.account, c.user, err = userIDs(c.Request)
	return err
}

// Limits of a page of a list (clients 6.3.4: the default of REST lists is 10).
const (
	defaultLimit = 10
	maxLimit     = 1000
	maxOffset    = 1 << 31
)

// page reads the query parameters limit and offset.
func (c *call) page() (p base.Page, err error) {
	q := c.URL.Query()
	if p.Limit, err = count(q, "limit", defaultLimit, maxLimit); err != nil {
		return p, err
	}
	p.Offset, err = count(q, "offset", 0, maxOffset)
	return p, err
}

// count reads a whole number from 0 to maximum; unset is the value of a missing parameter.
func count(q url.Values, name string, unset, maximum int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return unset, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maximum {
		return 0, core.Invalid(name, "must be a whole number from 0 to "+strconv.Itoa(maximum))
	}
	return n, nil
}
