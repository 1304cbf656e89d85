// Package api translates HTTP to use cases and back. It decides nothing: paths,
// methods, headers and bodies come in, one call to backend/program is made, and
// core/wire writes the answer or the error.
package api

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"kith/backend/program"
	"kith/core"
	"kith/core/link"
	"kith/core/wire"
)

// API is the HTTP surface of the backend.
type API struct {
	// Engine runs the use cases.
	Engine *program.Engine
	// Pages answers requests for pages that no part of the service owns, or is
	// nil: then they are not found.
	Pages http.Handler
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
		mux.Handle(path, a.adapt(offered.serve))
	}
	mux.Handle("/", a.adapt(noSuchPath))
	return a.behindEdge(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !link.OwnPath(r.URL.Path):
			a.adapt(a.page).ServeHTTP(w, r)
		case unclean(r.URL.EscapedPath()):
			a.adapt(noSuchPath).ServeHTTP(w, r)
		default:
			mux.ServeHTTP(w, r)
		}
	}))
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

func noSuchPath(http.ResponseWriter, *http.Request) error { return wire.NoSuchPath() }

func (a *API) routes() map[string]methods {
	const tenant = "/api/v1/{tenant}"
	const user = tenant + "/open/account/{account}/user/{user}"
	return map[string]methods{
		"/healthz":                    {"GET": a.health},
		"/s/{tenant}/{code}":          {"GET": a.shareLink},
		tenant + "/accountsync":       {"POST": a.syncAccount},
		tenant + "/account/{account}": {"GET": a.account},
		user:                          {"PUT": a.identify, "POST": a.identify, "GET": a.user},
		user + "/events":              {"POST": a.events},
		tenant + "/code/{code}":       {"GET": a.code},
		tenant + "/referrals":         {"GET": a.referrals},
		tenant + "/referrals/{id}":    {"GET": a.referral},
		tenant + "/reward":            {"GET": a.rewards},
		tenant + "/attributions":      {"GET": a.decisions},
	}
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
			a.Log.Error("request failed", "method", r.Method, "path", r.URL.Path, "error", err)
		}
		writeJSON(w, status, body)
	})
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", wire.JSONType)
	w.Header().Set("Cache-Control", wire.CacheControl)
	w.WriteHeader(status)
	// The client is gone when this fails; there is nobody left to tell.
	_, _ = w.Write(body)
}

// readJSON reads a body that must be JSON, up to the bound of all calls.
func readJSON(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if err := wire.CheckJSONType(r.Header.Get("Content-Type")); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, wire.MaxBody))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, wire.TooLarge(wire.MaxBody)
	}
	if err != nil {
		return nil, &core.Error{Code: core.CodeInvalid, Message: "the body ended before its Content-Length", Err: err}
	}
	return body, nil
}

func (a *API) health(w http.ResponseWriter, r *http.Request) error {
	if err := a.Engine.DB.Ping(r.Context()); err != nil {
		return &core.Error{Code: core.CodeUnavailable, Message: "the database does not answer", Err: err}
	}
	writeJSON(w, http.StatusOK, []byte(`{"status":"ok"}`))
	return nil
}
