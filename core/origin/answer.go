package origin

import (
	"net/url"
	"strings"

	"kith/core"
	"kith/core/link"
)

// Covers reports whether scripts in pages call a path, given as sent, and whose
// it is. Calls that only a holder of the API key may make are not among them:
// a page that could make them would have the key in it.
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

// Preflight reports whether a request asks, by these of its parts, what a page
// may do, instead of doing it.
func Preflight(method, origin, requestMethod string) bool {
	return method == "OPTIONS" && origin != "" && requestMethod != ""
}

// Refused is the answer to a preflight of a page that may not call.
func Refused() *core.Error {
	return &core.Error{
		Code: core.CodeForbidden, Field: "Origin",
		Message: "is not among the origins of this tenant; kith tenant origin add lists it",
	}
}

// Header is one name, in lower case, and value of an answer.
type Header struct{ Name, Value string }

// What a page may send (reference, 7.1), and headers that browsers and proxies
// of shops add.
const (
	methods = "GET, PUT, POST, DELETE, OPTIONS"
	headers = "accept, accept-language, authorization, content-language, content-type, x-requested-with, " +
		"x-saasquatch-referrer, x-saasquatch-user-token"
	// maxAge is how many seconds a browser may remember a preflight: an origin
	// that is taken off the list is out by then.
	maxAge = "600"
)

// Headers are what every answer on a covered path has when its request names an
// origin, errors included. A request that names none is no page's; its answer
// needs none of them, since no cache may keep it.
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
