package api

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"kith/backend/app/base"
	"kith/backend/guess"
	"kith/core"
	"kith/core/auth"
	"kith/core/rules"
)

// guesses counts attempts to guess codes, keys and ids. Calls to live tenants without the
// API key are limited (clients 6.3.5); which calls count, and the limit, are our choice.
type guesses struct{ *guess.Limiter }

// isGuess reports whether a call is counted before it is authenticated, so that refusing
// it needs no database query. It is if it has no credentials, or if its network has no
// attempts left and the same credentials were wrong a moment ago.
func (a *API) isGuess(r *http.Request, alias core.TenantAlias, authorization, userToken string) bool {
	if authorization == "" && userToken == "" {
		return base.Live(alias)
	}
	return a.guesses().Exhausted(seenAddress(r)) && a.Engine.Callers.WrongByCache(alias, authorization, userToken)
}

// mayGuess reports whether a call may be a guess, after its authentication succeeded or
// failed. A call with an API key or a user token is not a guess.
func mayGuess(c base.Caller, failed error) bool {
	return failed != nil || !c.Key && c.User == nil && base.Live(c.Tenant.Alias)
}

// unknownCode counts a call with a user token that failed with err because its code is
// unknown. It returns the error to answer with.
func (g guesses) unknownCode(w http.ResponseWriter, r *http.Request, c base.Caller, err error) error {
	if c.User == nil || !base.Live(c.Tenant.Alias) || !base.IsNotFound(err) {
		return err
	}
	if tooMany := g.attempt(w, r, 1); tooMany != nil {
		return tooMany
	}
	return err
}

// mayTry refuses a call that has codes and no API key if its network has no attempts
// left, whether the codes are known or not.
func (g guesses) mayTry(w http.ResponseWriter, r *http.Request, c base.Caller) error {
	if c.Key || !base.Live(c.Tenant.Alias) {
		return nil
	}
	return g.exhausted(w, r)
}

// unknownCodes counts the unknown codes of an identification without the API key. The
// identification is stored already, so only later calls are refused.
func (g guesses) unknownCodes(w http.ResponseWriter, r *http.Request, c base.Caller, done rules.Identified) {
	if !c.Key && base.Live(c.Tenant.Alias) && done.UnknownCodes > 0 {
		_ = g.attempt(w, r, done.UnknownCodes)
	}
}

// exhausted refuses a request if its network has no attempts left, whether its code is
// known or not; otherwise the answer would show which codes exist. The request is still
// reported to the edge as an attempt: the edge counts reported attempts only, and would
// continue to forward such requests.
func (g guesses) exhausted(w http.ResponseWriter, r *http.Request) error {
	if g.Exhausted(seenAddress(r)) {
		reportAttempts(w, r, 1)
		return g.tooMany()
	}
	return nil
}

// attempt counts n attempts of a request, and reports them to the edge that forwarded it.
func (g guesses) attempt(w http.ResponseWriter, r *http.Request, n int) error {
	reportAttempts(w, r, n)
	if g.Count(seenAddress(r), n) {
		return g.tooMany()
	}
	return nil
}

// reportAttempts adds to the attempts that the answer reports to the edge, if one
// forwarded the request.
func reportAttempts(w http.ResponseWriter, r *http.Request, n int) {
	if _, overEdge := r.Context().Value(hopKey{}).(auth.Hop); overEdge && n > 0 {
		before, _ := strconv.Atoi(w.Header().Get(auth.GuessesHeader))
		w.Header().Set(auth.GuessesHeader, strconv.Itoa(before+n))
	}
}

// inCall counts one attempt of a GraphQL call. The fields of a call run concurrently and
// must not write the answer's header, so made counts the attempts, and the handler
// reports them to the edge at the end.
func (g guesses) inCall(c base.Caller, r *http.Request, made *atomic.Int64) error {
	if !base.Live(c.Tenant.Alias) {
		return nil
	}
	made.Add(1)
	if g.Count(seenAddress(r), 1) {
		return g.tooMany()
	}
	return nil
}

func (g guesses) tooMany() error {
	return rateLimited(TooManyGuesses(g.PerMinute()))
}

// rateLimited returns the error of a network that made too many calls of a kind.
func rateLimited(message string) error {
	return &core.Error{Code: core.CodeRateLimited, RS: "RS033", Message: message}
}

// TooManyGuesses is the message of the error for a network that made more than perMinute
// attempts in a minute.
func TooManyGuesses(perMinute int) string {
	return fmt.Sprintf("more than %d attempts a minute without an API key from one network; wait a minute", perMinute)
}

// seenAddress returns the visitor's IP address, or the zero Addr if it is unknown.
func seenAddress(r *http.Request) netip.Addr {
	addr, _ := auth.ParseAddress(seenIP(r))
	return addr
}

// anonymousSlots limits GraphQL calls without credentials. Each call occupies a slot
// while it runs and then for the same time again. With slots for half of the processors,
// all such calls together use at most a quarter of the processors' time. At most 256 calls
// wait, of them at most 8 of one network.
var anonymousSlots = guess.NewSlots(max(1, runtime.GOMAXPROCS(0)/2), 256, 8)

// anonymousWait is how long a GraphQL call without credentials waits for a slot.
const anonymousWait = 5 * time.Second

// anonymousSlot waits for a slot if a GraphQL call of a network has no credentials. The
// caller must call release after the call has run.
func anonymousSlot(ctx context.Context, from netip.Addr, c base.Caller) (release func(), err error) {
	if c.Key || c.User != nil {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, anonymousWait)
	defer cancel()
	leave, err := anonymousSlots.Enter(ctx, from)
	if err != nil {
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "too many GraphQL calls without credentials at once; try again, or send a user token", Err: err}
	}
	start := time.Now()
	return func() { time.AfterFunc(time.Since(start), leave) }, nil
}
