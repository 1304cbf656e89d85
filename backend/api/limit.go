package api

import (
	"context"
	"errors"
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

// guesses counts the attempts of requests to guess codes, keys and ids. Calls without
// the API key are limited on live tenants (clients 6.3.5); by what and how many is our
// choice.
type guesses struct{ *guess.Limiter }

// isGuess reports whether a call is to be counted before it is known whose it is: it
// has no credentials, and looks codes up or makes users, or its network has no
// attempts left and its credentials were wrong a moment ago. So the refusal of either
// asks nothing of the database.
func (a *API) isGuess(r *http.Request, alias core.TenantAlias, authorization, userToken string) bool {
	if authorization == "" && userToken == "" {
		return base.Live(alias)
	}
	return a.guesses().Exhausted(seenAddress(r)) && a.Engine.Callers.WrongByCache(alias, authorization, userToken)
}

// mayGuess reports whether a call that was authenticated, or failed to be, may be a
// guess. Calls by the API key and of a user by their token guess nothing.
func mayGuess(c base.Caller, failed error) bool {
	return failed != nil || !c.Key && c.User == nil && base.Live(c.Tenant.Alias)
}

// unknownCode counts a call of a user that named an unknown code.
func (g guesses) unknownCode(w http.ResponseWriter, r *http.Request, c base.Caller, err error) error {
	if c.User == nil || !base.Live(c.Tenant.Alias) || !isUnknown(err) {
		return err
	}
	if tooMany := g.attempt(w, r, 1); tooMany != nil {
		return tooMany
	}
	return err
}

// mayTry refuses a call without the API key that tries codes, known or not, when its
// network has no attempts left.
func (g guesses) mayTry(w http.ResponseWriter, r *http.Request, c base.Caller) error {
	if c.Key || !base.Live(c.Tenant.Alias) {
		return nil
	}
	return g.exhausted(w, r)
}

// unknownCodes counts the unknown codes that an identification without the API key
// brought. It is stored by then, so its answer stands, and the next is refused.
func (g guesses) unknownCodes(w http.ResponseWriter, r *http.Request, c base.Caller, done rules.Identified) {
	if !c.Key && base.Live(c.Tenant.Alias) && done.UnknownCodes > 0 {
		_ = g.attempt(w, r, done.UnknownCodes)
	}
}

func isUnknown(err error) bool {
	var known *core.Error
	return errors.As(err, &known) && known.Code == core.CodeNotFound
}

// exhausted refuses a request, whatever it would find, when its network has no
// attempts left: else those that succeed could be distinguished from those that do not.
// It is reported to the edge all the same: what an edge forwards is not in its replica,
// and the edge, which counts only what is reported, would go on to forward.
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

// inCall counts one of several attempts of a GraphQL call. Its fields are resolved
// at once, and the answer's header is written when they are done; so they are
// reported to the edge at the end, all together.
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
	return &core.Error{Code: core.CodeRateLimited, RS: "RS033", Message: TooManyGuesses(g.PerMinute())}
}

// TooManyGuesses is the answer to a network that tries too much.
func TooManyGuesses(perMinute int) string {
	return fmt.Sprintf("more than %d attempts a minute without an API key from one network; wait a minute", perMinute)
}

// seenAddress is the visitor's address; the zero one when it is not known.
func seenAddress(r *http.Request) netip.Addr {
	addr, _ := auth.ParseAddress(seenIP(r))
	return addr
}

// strangerCalls has an element for each GraphQL call without credentials that runs, and
// after it for as long again as the call took. A call may ask for so much that it keeps
// a processor busy; in this way all of them together have a quarter of the processors'
// time.
var strangerCalls = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

// strangersWait bounds how long such a call waits for its turn.
const strangersWait = 5 * time.Second

// strangersTurn waits until a GraphQL call may run. The caller must call leave when
// it has run.
func strangersTurn(ctx context.Context, c base.Caller) (leave func(), err error) {
	if c.Key || c.User != nil {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, strangersWait)
	defer cancel()
	select {
	case strangerCalls <- struct{}{}:
		began := time.Now()
		return func() { time.AfterFunc(time.Since(began), func() { <-strangerCalls }) }, nil
	case <-ctx.Done():
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "too many GraphQL calls without credentials at once; try again, or send a user token"}
	}
}
