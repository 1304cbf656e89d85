package api

import (
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"

	"kith/backend/app/base"
	"kith/backend/store/programdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/wire"
)

func (a *API) linkRoutes() routes {
	return routes{"/s/{tenant}/{code}": {"GET": a.shareLink}}
}

// shareLink handles GET /s/{tenant}/{code}.
func (a *API) shareLink(w http.ResponseWriter, r *http.Request) error {
	alias, err := core.ParseTenantAlias(r.PathValue("tenant"))
	if err != nil {
		return err
	}
	if base.Live(alias) {
		if err := a.guesses().exhausted(w, r); err != nil {
			return err
		}
	}
	answer, target, err := a.Engine.Links.Follow(r.Context(), alias, r.PathValue("code"), a.visit(r))
	if err == nil && target.Code == "" && base.Live(alias) || base.IsNotFound(err) {
		if tooMany := a.guesses().attempt(w, r, 1); tooMany != nil {
			return tooMany
		}
	}
	if err != nil {
		return err
	}
	a.Engine.Analytics.Visits.Add(answer.Followed)
	giveTarget(w, r, target, r.PathValue("code"))
	redirect(w, answer)
	return nil
}

// giveTarget adds the target of a link to the answer, if an edge keeps it: that of a code in
// another spelling would say which code it is.
func giveTarget(w http.ResponseWriter, r *http.Request, t programdb.Target, code string) {
	if t.Code != "" && string(t.Code) == code {
		giveKept(w, r, wire.Kept{Tenant: t.Tenant, MaxAge: t.LinkMaxAge, Texts: wire.TargetOf(t.Target)})
	}
}

// maxKept is the most bytes of what an edge keeps in a header, which clients of HTTP limit. The
// target of a program with many hosts is longer, and each of its links is forwarded.
const maxKept = 4 << 10

// giveKept adds what an edge keeps to an answer, if it asks for that.
func giveKept(w http.ResponseWriter, r *http.Request, k wire.Kept) {
	if !FromEdge(r) || r.Header.Get(auth.KeepsHeader) != auth.KeepsForm || k.MaxAge <= 0 {
		return
	}
	if kept := base64.StdEncoding.EncodeToString([]byte(k.Text())); len(kept) <= maxKept {
		w.Header().Set(auth.KeptHeader, kept)
	}
}

// page serves a path that is not part of the API. If the query has a referral code, the
// code is stored in the cookie. Without a code, the pages that describe the API are
// served here, and all others by Pages.
func (a *API) page(w http.ResponseWriter, r *http.Request) error {
	code, carried := link.Carried(r.URL.RawQuery)
	if carried && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		if err := a.guesses().exhausted(w, r); err != nil {
			return err
		}
		answer, target, ok, err := a.Engine.Links.TakeCode(r.Context(), seenHost(r), code, a.visit(r))
		if err != nil {
			return err
		}
		if target.Code == "" {
			if tooMany := a.guesses().attempt(w, r, 1); tooMany != nil {
				return tooMany
			}
		}
		if ok {
			giveTarget(w, r, target, string(code))
			redirect(w, answer)
			return nil
		}
	}
	// A request with a code is for a page of the shop, which may have one at this path.
	if render, ok := documentationPages[r.URL.Path]; ok && !carried {
		return documented(w, r, render)
	}
	// http.ServeMux must not answer these: it would answer an unknown path in plain
	// text, and a path with an empty segment with a redirect.
	switch {
	case a.Pages == nil || link.Unclean(r.URL.EscapedPath()):
		return a.noSuchPath(w, r)
	case a.hasPage(r, r.Method):
		a.Pages.ServeHTTP(w, r)
		return nil
	case a.hasPage(r, http.MethodGet):
		w.Header().Set("Allow", "GET, HEAD")
		return wire.MethodNotAllowed(r.Method)
	}
	return a.noSuchPath(w, r)
}

// hasPage reports whether Pages serves the path of a request with a method.
func (a *API) hasPage(r *http.Request, method string) bool {
	_, pattern := a.Pages.Handler(&http.Request{Method: method, URL: r.URL, Host: r.Host})
	return pattern != ""
}

// redirect writes the answer to a link.
func redirect(w http.ResponseWriter, answer link.Answer) {
	h := w.Header()
	h.Set("Location", answer.Location)
	h.Set("Cache-Control", link.CacheControl)
	h.Set("Content-Length", strconv.Itoa(len(answer.Text))) // net/http would leave out a zero of an answer to HEAD
	if answer.Text != "" {
		h.Set("Content-Type", "text/plain; charset=utf-8")
	}
	for _, cookie := range []string{answer.SquatchCookie, answer.SetCookie} {
		if cookie != "" {
			h.Add("Set-Cookie", cookie)
		}
	}
	w.WriteHeader(answer.Status)
	_, _ = io.WriteString(w, answer.Text) // the visitor is gone
}

// visit returns the parts of a request that the rules of links and cookies use.
func (a *API) visit(r *http.Request) link.Visit {
	h := r.Header
	return link.Visit{
		Method: r.Method, Secure: seenScheme(r) == "https", Host: seenHost(r),
		Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Cookie: cookies(r),
		UserAgent: h.Get("User-Agent"), SecPurpose: h.Get("Sec-Purpose"), Purpose: h.Get("Purpose"),
		GPC: h.Get("Sec-GPC"), DNT: h.Get("DNT"),
	}
}

// script handles GET /kith.js: the browser script, as the edge answers it. It is not a
// call of the API, so the OpenAPI document does not have it.
func (a *API) script(w http.ResponseWriter, r *http.Request) error {
	all := func(name string) string { return strings.Join(r.Header.Values(name), ",") }
	answer, err := a.Script.Answer(r.URL.RawQuery, all("Accept-Encoding"), all("If-None-Match"))
	if err != nil {
		return err
	}
	for _, h := range answer.Headers {
		w.Header().Set(h[0], h[1])
	}
	if answer.Status != http.StatusNotModified {
		w.Header().Set("Content-Length", strconv.Itoa(len(answer.Body)))
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body) // an error means that the client has disconnected
	return nil
}
