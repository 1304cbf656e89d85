package origin

import (
	"net/url"
	"strings"

	"kith/core"
	"kith/core/link"
)

// Covers reports whether scripts in pages may call a path, given as sent, and returns
// its tenant. Calls that need the API key are not covered: a page that makes them
// would have to contain the key.
func Covers(path string) (tenant core.TenantAlias, ok bool) {
	rest, api := strings.CutPrefix(path, "/api/v1/")
	if !api {
		if rest, ok = strings.CutPrefix(path, "/a/"); !ok || !link.OwnPath(path) {
			return "", false
		}
	}
	segment, rest, _ := strings.Cut(rest, "/")
	if kind, _, _ := strings.Cut(rest, "/"); api && kind != "open" && kind != "widget" && kind != "graphql" && kind != "mail" {
		return "", false
	}
	alias, err := url.PathUnescape(segment)
	if err != nil {
		return "", false
	}
	tenant, err = core.ParseTenantAlias(alias)
	return tenant, err == nil
}

// Preflight reports whether a request with this method, Origin and
// Access-Control-Request-Method is a CORS preflight.
func Preflight(method, origin, requestMethod string) bool {
	return method == "OPTIONS" && origin != "" && requestMethod != ""
}

// Refused returns the error for a preflight of an origin that is not allowed.
func Refused() *core.Error {
	return &core.Error{
		Code: core.CodeForbidden, Field: "Origin",
		Message: "is not an origin of this tenant; add it with kith tenant origin add",
	}
}

// Header is a header of a response. Name is in lower case.
type Header struct{ Name, Value string }

// Methods and headers that a page may send (clients 7.1.6), and headers that
// browsers and shops' proxies add.
const (
	methods = "GET, PUT, POST, DELETE, OPTIONS"
	headers = "accept, accept-language, authorization, content-language, content-type, x-requested-with, " +
		"x-saasquatch-referrer, x-saasquatch-user-token"
	// maxAge is how many seconds a browser may cache a preflight, and so how long a
	// removed origin may still call.
	maxAge = "600"
)

// Headers returns the headers of every response, errors included, to a request on a
// covered path that has an Origin header. A request without that header is not from a
// page; its response needs none of them, since caches may not store it.
func Headers(origin string, allowed, preflight bool) []Header {
	h := []Header{{"vary", "Origin"}}
	if !allowed {
		return h
	}
	h = append(h, Header{"access-control-allow-origin", origin}, Header{"access-control-allow-credentials", "true"})
	if preflight {
		h = append(h, Header{"access-control-allow-methods", methods}, Header{"access-control-allow-headers", headers},
			Header{"access-control-max-age", maxAge})
	}
	return h
}
