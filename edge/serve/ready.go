package serve

import (
	"errors"
	"strconv"
	"strings"

	"kith/core"
	"kith/core/auth"
	"kith/core/wire"
	"kith/edge/abi"
)

// clockToleranceVariable is how many milliseconds the clocks of edge and backend may be
// apart.
const clockToleranceVariable = "clock_tolerance_ms"

// belong reports whether the master keys are those of the database, by auth.MasterKeyOf.
func belong(keys auth.Keyring, masterKey string) bool {
	fingerprint, next, _ := strings.Cut(masterKey, " ")
	return keys.Belongs(fingerprint, next)
}

// needed are statements that fail if the database lacks a table or column that the
// component needs, and read no row. So a component is ready on any schema that has these.
var needed = [...]struct {
	statement string
	params    int
}{
	{targetByTenant, 2}, {targetByHost, 2}, {codeStatement, 2}, {pageSenderStatement, 4}, {userStatement, 4},
	{`SELECT tenant, account_id, user_id, idempotency_key, events, received_at, key_id, trusted, seq FROM intake WHERE tenant = ?1 LIMIT 0`, 1},
}

// ready handles the readiness check. The edge is ready if it can read its database, which
// has what the component needs, and if its master key and clock are those of the database
// and the backend. An edge without its backend is ready, because it answers share links
// and look-ups; the answer then says so. Without a database, only the backend is asked.
//
// The check does not write: a component waits for a statement without a time limit of its
// own, and an edge that cannot write still answers share links. `kith edge` tries a write
// beside the component.
func (r *request) ready() (abi.Response, error) {
	v, err := r.execute("SELECT max(version), " + auth.MasterKeyOf + " FROM schema_version")
	if err != nil && !r.without {
		return abi.Response{}, notReady("the database does not answer", err)
	}
	if !r.without {
		if len(v.Values) != 1 || v.Values[0][0].IsNull() {
			return abi.Response{}, noSchemaError(errors.New("schema_version is empty"))
		}
		for _, n := range needed {
			if _, err := r.execute(n.statement, []abi.Value{abi.Text(""), abi.Text(""), abi.Text(""), abi.Text("")}[:n.params]...); err != nil {
				return abi.Response{}, notReady("the database does not answer", err)
			}
		}
	}
	keys, err := r.keys()
	if err != nil {
		return abi.Response{}, notReady("the master key of this edge is not valid; give it the key of the backend (KITH_MASTER_KEY, master_key)", err)
	}
	if !r.without && !belong(keys, v.Values[0][1].String()) {
		return abi.Response{}, otherKeyError("")
	}
	backend := r.backendState(keys)
	if backend.refused != nil {
		return abi.Response{}, backend.refused
	}
	if backend.away {
		return jsonResponse(200, []byte(`{"status":"ok","degraded":{"backend":"the backend does not answer, or is not ready"}}`)), nil
	}
	return jsonResponse(200, []byte(`{"status":"ok"}`)), nil
}

func notReady(message string, cause error) error {
	return &core.Error{Code: core.CodeUnavailable, Message: message, Err: cause}
}

// otherKeyError returns the error for a master key that is not that of the database or, if
// of is set, not that of another process.
func otherKeyError(of string) error {
	if of == "" {
		of = "the database"
	}
	return notReady("the master key of this edge is not that of "+of+"; give edge and backend the same, and let nothing in between change X-Forwarded headers", nil)
}

// The state of the backend is kept in the key-value store, if the host has one: at most
// one check is made in each second, and while one has not ended, which means that the
// backend hangs, no other is begun for a minute.
const (
	stateName  = "backend-state"
	stateAge   = core.Second
	runningAge = core.Minute
)

// backendState returns the state of the backend.
func (r *request) backendState(keys auth.Keyring) state {
	store, err := abi.OpenStore(linkStore)
	if err != nil {
		return r.askBackend(keys)
	}
	if text, err := store.Get(stateName); err == nil {
		if s, ok := parseState(text, r.now); ok {
			return s
		}
	}
	_ = store.Set(stateName, wire.List([]string{strconv.FormatInt(int64(r.now), 10), "running", ""}))
	s := r.askBackend(keys)
	kind, text := "ok", ""
	switch {
	case s.refused != nil:
		kind, text = "refused", s.refused.Error()
	case s.away:
		kind = "away"
	}
	_ = store.Set(stateName, wire.List([]string{strconv.FormatInt(int64(r.edge.Now()), 10), kind, text}))
	return s
}

// state is what is known of the backend.
type state struct {
	// refused is why the backend refuses this edge, or nil.
	refused error
	// away is true if the backend does not answer or is not ready.
	away bool
}

// parseState parses a stored state; ok is false if it is too old.
func parseState(text string, now core.Time) (s state, ok bool) {
	v, ok := wire.Items(text)
	if !ok || len(v) != 3 {
		return s, false
	}
	at, err := strconv.ParseInt(v[0], 10, 64)
	life := stateAge
	if v[1] == "running" {
		life = runningAge
	}
	// A time in the future is from before the clock was set back.
	if err != nil || core.Time(at) > now || core.Time(at)+life <= now {
		return s, false
	}
	if v[1] == "refused" {
		return state{refused: notReady(v[2], nil)}, true
	}
	return state{away: v[1] != "ok"}, true
}

// askBackend sends the backend a signed request, and compares the clocks.
func (r *request) askBackend(keys auth.Keyring) state {
	hop := auth.Hop{Method: "GET", URI: "/healthz", Proto: "http", Host: "edge"}
	sent := r.edge.Now()
	signed := hop.Sign(keys.Hop(), sent)
	response, err := abi.Send("GET", strings.TrimSuffix(r.variable(backendVariable), "/")+hop.URI, r.appendHop(nil, hop, signed), nil)
	if err != nil {
		return state{away: true}
	}
	answered := r.edge.Now()
	if refused := r.refusal(response, sent, answered); refused != nil {
		return state{refused: refused}
	}
	for _, h := range response.Headers {
		if h.Name == auth.TimeHeader {
			if difference, ok := clockDifference(h.Value, sent, answered); ok && abs(difference) > r.clockTolerance() {
				return state{refused: otherClockError(difference)}
			}
		}
	}
	_, status := envelopeOf(response, keys.Hop(), signed)
	// During a rotation the backend may know the key of this edge, and sign with a newer one.
	if status == otherSignature {
		return state{refused: otherKeyError("the backend")}
	}
	return state{away: status != 200}
}

// refusal returns the error for a response of a backend that refused this edge's
// signature, else nil.
func (r *request) refusal(response abi.Response, sent, answered core.Time) error {
	why, theirs := "", ""
	for _, h := range response.Headers {
		switch h.Name {
		case auth.RefusalHeader:
			why = h.Value
		case auth.TimeHeader:
			theirs = h.Value
		}
	}
	switch refusal, _ := auth.ParseRefusal(why); refusal {
	case auth.RefusedKey:
		return otherKeyError("the backend")
	case auth.RefusedClock:
		difference, _ := clockDifference(theirs, sent, answered)
		return otherClockError(difference)
	}
	return nil
}

func clockDifference(theirs string, sent, answered core.Time) (core.Time, bool) {
	at, err := strconv.ParseInt(theirs, 10, 64)
	if err != nil {
		return 0, false
	}
	return auth.ClockDifference(sent, answered, core.Time(at)), true
}

func abs(t core.Time) core.Time { return max(t, -t) }

// otherClockError returns the error for a backend whose clock is ahead by a difference.
func otherClockError(ahead core.Time) error {
	where := "ahead of"
	if ahead < 0 {
		where = "behind"
	}
	return notReady("the clock of the backend is "+strconv.FormatInt(int64(abs(ahead)/core.Second), 10)+" s "+where+
		" that of this edge; synchronize both with a time server, or raise the tolerance (KITH_CLOCK_TOLERANCE, clock_tolerance_ms)", nil)
}

// clockTolerance returns how far the clocks may be apart.
func (r *request) clockTolerance() core.Time {
	ms, err := strconv.ParseInt(r.variable(clockToleranceVariable), 10, 64)
	if err != nil || ms <= 0 {
		return auth.ClockTolerance
	}
	return core.Time(ms)
}

// cookieSigner returns the signer of a tenant's cookies, or none if the master key is not
// that of the database: the link then redirects without a cookie, which no other process
// could verify.
func (r *request) cookieSigner(t target) auth.Signer {
	keys, err := r.keys()
	if err == nil && belong(keys, t.MasterKey) {
		return keys.Cookie(t.Tenant)
	}
	if err == nil {
		err = otherKeyError("")
	} else if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	println("edge: request " + r.id + ": no cookie is set: " + err.Error())
	return auth.Signer{}
}
