package host

import (
	"fmt"
	"strings"
)

// route is one route of an HTTP trigger: a path, or a path and all paths below it.
type route struct {
	raw    string // as written
	prefix string // without the wildcard
	below  bool   // raw ends in "/..."
	// constant has the headers that are the same for every request of this route.
	constant []header
}

// parseRoute parses "/a/b" and "/a/b/...". Named segments (":id") are not
// supported.
func parseRoute(raw string) (route, error) {
	if !strings.HasPrefix(raw, "/") || strings.Contains(raw, "/:") {
		return route{}, fmt.Errorf("route %q is not supported", raw)
	}
	prefix, below := strings.CutSuffix(raw, "/...")
	// The names are Spin's: crates/trigger-http/src/headers.rs.
	return route{raw: raw, prefix: prefix, below: below, constant: []header{
		{"spin-matched-route", raw},
		{"spin-base-path", "/"},
		{"spin-raw-component-route", raw},
		{"spin-component-route", prefix},
	}}, nil
}

// match returns what follows the route in path, "" for a route without wildcard.
func (r route) match(path string) (rest string, ok bool) {
	if !r.below {
		return "", path == r.prefix
	}
	rest, ok = strings.CutPrefix(path, r.prefix)
	return rest, ok && (rest == "" || rest[0] == '/')
}
