// Package api translates HTTP to use cases and back. It decides nothing: paths,
// methods, headers and bodies come in, one call to backend/app is made, and
// core/wire writes the answer or the error.
package api

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"kith/backend/app"
	"kith/backend/graphql"
	"kith/backend/guess"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/origin"
	"kith/core/wire"
	"kith/wasm/bodies"
)

// API is the HTTP surface of the backend.
type API struct {
	// Engine runs the use cases.
	Engine *app.Engine
	// Pages are the pages that no part of the service owns; none when nil.
	Pages *http.ServeMux
	// GraphQL answers GraphQL calls.
	GraphQL *graphql.Server
	// GraphiQL is a page to write GraphQL in, or nil.
	GraphiQL *GraphiQL
	// Guesses bounds attempts to guess codes, keys and ids, or is nil: then
	// nothing does.
	Guesses *guess.Limiter
	// Proxies are the networks of proxies whose X-Forwarded headers are read.
	Proxies auth.Networks
	// Bodies is the memory for the bodies of calls; nil: of the default size.
	Bodies *bodies.Budget
	// Observe wraps the handler of each route, or is nil.
	Observe func(route string, next http.Handler) http.Handler
	// Log gets one line for each fault of ours.
	Log *slog.Logger
}

// handler is the form of every handler: it writes an answer or returns an
// error, never both.
type handler func(w http.ResponseWriter, r *http.Request) error

// methods is what one path offers.
type methods map[string]handler

// Handler returns the whole surface.
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, offered := range a.routes() {
		mux.Handle(path, a.observe(path, a.adapt(offered.serve)))
	}
	none := a.observe("none", a.adapt(noSuchPath))
	mux.Handle("/", none)
	pages := a.observe("page", a.adapt(a.page))
	ambiguous := a.observe("none", a.adapt(badQuery))
	return a.withBodies(a.behindEdge(a.acrossOrigins(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !link.OwnPath(r.URL.Path):
			pages.ServeHTTP(w, r)
		case unclean(r.URL.EscapedPath()):
			none.ServeHTTP(w, r)
		case isCall(r.URL.Path) && wire.CheckQuery(r.URL.RawQuery) != nil:
			ambiguous.ServeHTTP(w, r)
		default:
			mux.ServeHTTP(w, r)
		}
	}))))
}

// isCall reports whether a path is that of a call of a client. A link that people
// open, and a webhook of others, may have any query.
func isCall(path string) bool {
	return strings.HasPrefix(path, "/api/") && !strings.HasSuffix(path, "/webhook") ||
		strings.HasPrefix(path, "/a/") && !strings.Contains(path, "/message/")
}

func badQuery(_ http.ResponseWriter, r *http.Request) error { return wire.CheckQuery(r.URL.RawQuery) }

func (a *API) observe(route string, next http.Handler) http.Handler {
	if a.Observe == nil {
		return next
	}
	return a.Observe(route, next)
}

// unclean reports whether the mux would redirect to a path without its empty
// parts and dots: clients of an API follow no redirect, and a page is not ours
// to move.
func unclean(path string) bool {
	for part := range strings.SplitSeq(path[1:], "/") {
		if part == "." || part == ".." {
			return true
		}
	}
	return strings.Contains(path, "//")
}

// noSuchPath answers a request for what is not there. A page of any origin may
// read that, where no tenant has a say: it says nothing of anybody.
func noSuchPath(w http.ResponseWriter, r *http.Request) error {
	from := r.Header.Get("Origin")
	if _, covered := origin.Covers(r.URL.EscapedPath()); from != "" && !covered {
		for _, h := range origin.Headers(from, true, false) {
			w.Header().Set(h.Name, h.Value)
		}
	}
	return wire.NoSuchPath()
}

// routes are paths, as patterns of the mux, and what each offers. Every subject
// has its own, beside its handlers.
type routes map[string]methods

// Where the paths of a tenant and of a user begin.
const (
	tenantPath = "/api/v1/{tenant}"
	userPath   = tenantPath + "/open/account/{account}/user/{user}"
)

func (a *API) routes() routes {
	all := routes{"/healthz": {"GET": a.health}}
	for _, subject := range []routes{
		a.cookieRoutes(), a.analyticsRoutes(), a.widgetRoutes(),
		a.linkRoutes(), a.accountRoutes(), a.userRoutes(), a.shareLinkRoutes(), a.codeRoutes(), a.eventRoutes(),
		a.referralRoutes(), a.programRoutes(), a.rewardRoutes(), a.discountRoutes(), a.attributionRoutes(), a.openapiRoutes(),
		a.subscriptionRoutes(), a.graphQLRoutes(), a.graphiQLRoutes(),
		a.exportRoutes(), a.gatewayRoutes(), a.keyRoutes(),
	} {
		maps.Copy(all, subject)
	}
	return all
}

func (m methods) serve(w http.ResponseWriter, r *http.Request) error {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if h, ok := m[method]; ok {
		return h(w, r)
	}
	var allow []string
	for _, name := range []string{"GET", "HEAD", "POST", "PUT", "DELETE"} {
		if _, ok := m[name]; ok || name == "HEAD" && m["GET"] != nil {
			allow = append(allow, name)
		}
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	return wire.MethodNotAllowed(r.Method)
}

// adapt renders the error of a handler; what is a fault of ours is logged once
// and its text withheld.
func (a *API) adapt(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := h(w, r)
		if err == nil {
			return
		}
		status, body := wire.Failure(err)
		if status >= 500 && r.Context().Err() == nil {
			a.Log.Error("request failed", "id", r.Header.Get(core.RequestIDHeader), "method", r.Method, "route", r.Pattern, "tenant", r.PathValue("tenant"), "error", err)
		}
		if after := wire.RetryAfter(status); after != "" {
			w.Header().Set("Retry-After", after)
		}
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", challenge(r))
		}
		writeJSON(w, status, body)
	})
}

// challenge names the credentials that a call takes (RFC 9110, 11.6.1). A script
// of a page has no API key, and for Basic its browser would ask the visitor for a
// password.
func challenge(r *http.Request) string {
	if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Mode") != "" {
		return `Bearer realm="kith"`
	}
	return `Basic realm="kith", charset="UTF-8", Bearer realm="kith"`
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	writeAs(w, wire.JSONType, status, body)
}

// writeAs writes an answer of a media type.
func writeAs(w http.ResponseWriter, kind string, status int, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", wire.CacheControl)
	// Said here, since HEAD is to be answered with it too, whatever is sent.
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	// The client is gone when this fails; there is nobody left to tell.
	_, _ = w.Write(body) // #nosec G705 -- JSON, and named so
}

// readJSON reads a body that must be JSON, up to the bound of all calls.
func readJSON(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if err := wire.CheckJSONType(r.Header.Get("Content-Type")); err != nil {
		return nil, err
	}
	return readBody(w, r, wire.MaxBody)
}

type bodiesKey struct{}

// withBodies lends the memory for bodies to the requests of next.
func (a *API) withBodies(next http.Handler) http.Handler {
	budget := a.Bodies
	if budget == nil {
		budget = bodies.NewBudget(bodies.Limits{})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), bodiesKey{}, budget)))
	})
}

// readBody reads a body of up to most bytes. Its memory is given back when the
// request has been answered, or its client is gone.
func readBody(w http.ResponseWriter, r *http.Request, most int) ([]byte, error) {
	body, release, err := r.Context().Value(bodiesKey{}).(*bodies.Budget).Read(w, r, int64(most))
	context.AfterFunc(r.Context(), release)
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		return body, nil
	case errors.As(err, &tooLarge):
		return nil, wire.TooLarge(most)
	case errors.Is(err, bodies.ErrSlow):
		return nil, &core.Error{Code: core.CodeTimeout, Message: "the body arrived too slowly; send at least 1 kB a second, and all of it within 60 seconds"}
	case errors.Is(err, bodies.ErrFull):
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "too many large calls at once; try again"}
	}
	return nil, &core.Error{Code: core.CodeInvalid, Message: "the body ended before its Content-Length", Err: err}
}

func (a *API) health(w http.ResponseWriter, r *http.Request) error {
	if err := a.Engine.DB.Ping(r.Context()); err != nil {
		return &core.Error{Code: core.CodeUnavailable, Message: "the database does not answer", Err: err}
	}
	writeJSON(w, http.StatusOK, []byte(`{"status":"ok"}`))
	return nil
}
