// Package api translates between HTTP and the use cases of backend/app. It has no
// rules of its own: a handler reads the path, headers and body of a request, calls one
// use case, and core/wire writes the answer or the error.
package api

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/fault"
	"kith/backend/graphql"
	"kith/backend/guess"
	"kith/backend/sparse"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	texts "kith/core/text"
	"kith/core/wire"
	"kith/wasm/bodies"
)

// API serves the HTTP API of the backend.
type API struct {
	// Engine runs the use cases.
	Engine *app.Engine
	// Pages serves the paths that are not part of the API; nil: no such paths.
	Pages *http.ServeMux
	// GraphQL answers GraphQL calls.
	GraphQL *graphql.Server
	// GraphiQL is the page for writing GraphQL queries; nil: no such page.
	GraphiQL *GraphiQL
	// Portal has the pages in which people run their programs; nil: no such pages.
	Portal Portal
	// PortalURL is the origin at which people open the portal; see link.Sent.
	PortalURL string
	// Script is the browser script.
	Script link.Script
	// Guesses limits attempts to guess codes, keys and ids; nil: no limit.
	Guesses *guess.Limiter
	// Operator makes the operator the caller of every call, with or without credentials: for
	// kith api on the database. Such a handler must not be reachable over a network.
	Operator bool
	// Proxies are the networks of the proxies whose X-Forwarded headers are trusted.
	Proxies auth.Networks
	// ClockTolerance is how far the clocks of an edge and this backend may be apart; 0: the
	// default.
	ClockTolerance core.Time
	// Bodies limits the memory for the bodies of requests; nil: the default limits.
	Bodies *bodies.Budget
	// Observe wraps the handler of each route, for metrics; nil: no wrapper.
	Observe func(route string, next http.Handler) http.Handler
	// Log gets a record for each internal error, of the same one at most one a second.
	Log *slog.Logger

	failures sparse.Log
	// offered are the routes of the handler, for suggestions.
	offered routes
}

// Portal has the pages in which people run their programs. Like the documentation, they
// do not belong to the service (link.OwnPath): behind a shop's proxy the paths are the
// shop's, and so is a request with a referral code.
type Portal interface {
	// Owns reports whether a path is one of the pages.
	Owns(path string) bool
	// Serve answers a request for a page. seen has the visitor's address, scheme and host.
	Serve(w http.ResponseWriter, r *http.Request, seen auth.Hop)
}

// isPortal reports whether a request is for a page of the portal.
func (a *API) isPortal(r *http.Request) bool {
	_, carried := link.Carried(r.URL.RawQuery)
	return !carried && a.Portal != nil && a.Portal.Owns(r.URL.Path)
}

// portal serves a page of the portal, which answers its own errors.
func (a *API) portal(w http.ResponseWriter, r *http.Request) error {
	a.Portal.Serve(w, r, auth.Hop{For: seenIP(r), Proto: seenScheme(r), Host: seenHost(r)})
	return nil
}

// handler serves a request: it either writes an answer or returns an error, never
// both.
type handler func(w http.ResponseWriter, r *http.Request) error

// methods has the handlers of a path, by HTTP method.
type methods map[string]handler

// Handler returns the handler of all paths.
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	a.offered = a.routes()
	for path, offered := range a.offered {
		mux.Handle(path, a.observe(path, a.adapt(a.serve(offered))))
	}
	mux.Handle(link.ScriptPath, a.observe(link.ScriptPath, a.adapt(a.serve(methods{"GET": a.script}))))
	none := a.observe("none", a.adapt(a.noSuchPath))
	mux.Handle("/", none)
	pages := a.observe("page", a.adapt(a.page))
	portal := a.observe("portal", a.adapt(a.portal))
	ambiguous := a.observe("none", a.adapt(badQuery))
	twice := a.observe("none", a.adapt(answered(core.Malformed("Content-Type", "occurs twice; send it once"))))
	return a.withBodies(a.behindEdge(a.onlyHTTPS(a.acrossOrigins(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = withoutSlash(r)
		switch {
		case len(r.Header.Values("Content-Type")) > 1:
			twice.ServeHTTP(w, r)
		case a.isPortal(r):
			portal.ServeHTTP(w, r)
		case !link.OwnPath(r.URL.Path):
			pages.ServeHTTP(w, r)
		case link.Unclean(r.URL.EscapedPath()):
			none.ServeHTTP(w, r)
		case isCall(r.URL.Path) && wire.CheckQuery(r.URL.RawQuery) != nil:
			ambiguous.ServeHTTP(w, r)
		default:
			mux.ServeHTTP(w, r)
		}
	})))))
}

// onlyHTTPS makes browsers use https only, at a host that the operator has named with
// https. A shop's own host is the shop's decision.
func (a *API) onlyHTTPS(next http.Handler) http.Handler {
	hosts := map[string]bool{}
	for _, named := range []string{a.PortalURL, a.Engine.PublicURL} {
		if host, ok := strings.CutPrefix(named, "https://"); ok {
			hosts[strings.ToLower(strings.TrimSuffix(host, "/"))] = true
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hosts[strings.ToLower(seenHost(r))] && seenScheme(r) == "https" {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}

// isCall reports whether a path belongs to an API call. The query of a link that a
// person opens, and of a webhook that a gateway sends, is not checked.
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

// routes has the methods of each path; a path is a pattern of http.ServeMux. Each file
// of this package has the routes of its handlers.
type routes map[string]methods

// Prefixes of the paths of a tenant and of a user.
const (
	tenantPath = "/api/v1/{tenant}"
	userPath   = tenantPath + "/open/account/{account}/user/{user}"
)

func (a *API) routes() routes {
	all := routes{"/healthz": {"GET": a.health}}
	for _, subject := range []routes{
		a.cookieRoutes(), a.analyticsRoutes(), a.widgetRoutes(),
		a.linkRoutes(), a.accountRoutes(), a.userRoutes(), a.shareLinkRoutes(), a.codeRoutes(), a.eventRoutes(), a.pipelineRoutes(),
		a.referralRoutes(), a.programRoutes(), a.rewardRoutes(), a.discountRoutes(), a.attributionRoutes(), a.openapiRoutes(),
		a.subscriptionRoutes(), a.graphQLRoutes(), a.graphiQLRoutes(),
		a.exportRoutes(), a.gatewayRoutes(), a.keyRoutes(), a.websiteRoutes(), a.peopleRoutes(),
	} {
		maps.Copy(all, subject)
	}
	return all
}

// adapt turns a handler into an http.Handler. It writes the error that the handler
// returned, or that its panic is. An internal error is logged here, and its text is not sent.
func (a *API) adapt(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := fault.Catch(w, func(w http.ResponseWriter) error { return h(w, r) })
		if err == nil {
			return
		}
		w.Header().Del(onceHeader)
		status, body := wire.Failure(err)
		if status >= 500 && r.Context().Err() == nil {
			log := a.failures.Error
			if w.Header().Get(auth.RefusalHeader) != "" {
				log = a.failures.Warn // any client may send a false hop
			}
			log(a.Log, err.Error(), "request failed", "id", r.Header.Get(core.RequestIDHeader), "method", r.Method, "route", r.Pattern, "tenant", r.PathValue("tenant"), "error", withCause(err))
		}
		fault.Abort(err)
		if status == http.StatusForbidden {
			a.Engine.ReportWork(base.WorkPermission, base.PermissionCaller, base.OutcomeRefused, 1)
			a.failures.Warn(a.Log, r.Pattern+r.PathValue("tenant"), "request refused: the caller has no permission", "id", r.Header.Get(core.RequestIDHeader), "method", r.Method, "route", r.Pattern, "tenant", r.PathValue("tenant"), "reason", err)
		}
		explainStatus(w, r, status)
		if p, ok := errorPage(r, status); ok {
			writePage(w, status, p)
			return
		}
		writeJSON(w, status, body)
	})
}

// withCause returns an error for the log, with the cause that callers do not get.
func withCause(err error) error {
	var known *core.Error
	if errors.As(err, &known) && known.Err != nil {
		return fmt.Errorf("%w: %w", err, known.Err)
	}
	return err
}

// errorPage returns the page that a browser gets in place of the JSON of an error, on
// paths of links that people open; ok is false for other clients and paths.
func errorPage(r *http.Request, status int) (p texts.Page, ok bool) {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if !reads || !link.OpenedByPeople(r.URL.Path) || !texts.WantsPage(strings.Join(r.Header.Values("Accept"), ",")) {
		return p, false
	}
	return texts.ErrorPage(status, texts.Wanted(link.Locale(r.URL.RawQuery), "", r.Header.Get("Accept-Language"))), true
}

// explainStatus sets the headers with which a status says what the client may do.
func explainStatus(w http.ResponseWriter, r *http.Request, status int) {
	if after := wire.RetryAfter(status); after != "" {
		w.Header().Set("Retry-After", after)
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", challenge(r))
	}
}

// challenge returns the value of WWW-Authenticate (RFC 9110, 11.6.1). It leaves out
// Basic for a script of a web page: the script has no API key, and the browser would ask
// the visitor for a password.
func challenge(r *http.Request) string {
	if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Mode") != "" {
		return `Bearer realm="kith"`
	}
	return `Basic realm="kith", charset="UTF-8", Bearer realm="kith"`
}

func writePage(w http.ResponseWriter, status int, p texts.Page) {
	for _, h := range p.Headers() {
		w.Header().Set(h[0], h[1])
	}
	writeAs(w, w.Header().Get("Content-Type"), status, []byte(p.HTML))
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	writeAs(w, wire.JSONType, status, body)
}

// writeAs writes an answer with a media type.
func writeAs(w http.ResponseWriter, kind string, status int, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", wire.CacheControl)
	// net/http leaves it out of a long answer to HEAD.
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	// If this fails the client has disconnected, and gets no other answer.
	_, _ = w.Write(body) // #nosec G705 -- JSON, and named so
}

// health handles GET /healthz: 200 if this backend can serve, which includes that the
// database accepts writes, else 503.
func (a *API) health(w http.ResponseWriter, r *http.Request) error {
	if err := a.Engine.Health.Ready(r.Context()); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, []byte(`{"status":"ok"}`))
	return nil
}
