// Package origin decides which pages may call the service from a browser (CORS).
//
// A tenant lists its origins. The origins of its programs' landing pages are allowed
// too. The response names the origin of the request and never "*", because these
// calls have cookies. A page of another origin cannot read the response: its browser
// refuses it.
package origin

import (
	"net/url"
	"strings"

	"kith/core"
)

// Origin is the origin of a page, as browsers write it: scheme, host and, if it is
// not the scheme's default, port; in lower case.
type Origin string

// MaxPerTenant is the most origins that a tenant may list.
const MaxPerTenant = 100

const maxOrigin = 300

// Parse returns s as an origin or an error about field. It refuses a URL with a path,
// because a path would not restrict the origin.
func Parse(field, s string) (Origin, error) {
	u, err := url.Parse(s)
	if err != nil || len(s) > maxOrigin || !web(u) || u.User != nil || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.Host, "*") {
		return "", core.Invalid(field, "must be an origin such as https://shop.example or http://localhost:8000")
	}
	if !core.ValidPort(u.Port()) {
		return "", core.Invalid(field, "must have a port of at most 65535")
	}
	return of(u), nil
}

// Allowed reports whether a page of that origin, as the Origin header names it, may
// call a tenant with these sites: origins and URLs of landing pages, one on each
// line, as the query Sites returns them.
func Allowed(header, sites string) bool {
	if header == "" || header == "null" {
		return false
	}
	for site := range strings.SplitSeq(sites, "\n") {
		u, err := url.Parse(site)
		if err == nil && web(u) && string(of(u)) == header {
			return true
		}
	}
	return false
}

// Sites is the query for the sites of tenant ?1, which the edge runs on its replica
// and the backend on the primary. It returns one row; NULL for a tenant without
// sites.
const Sites = `SELECT group_concat(site, char(10)) FROM (
	SELECT origin AS site FROM tenant_origin WHERE tenant = ?1
	UNION ALL SELECT landing_url FROM program WHERE tenant = ?1)`

func web(u *url.URL) bool { return (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" }

func of(u *url.URL) Origin {
	host := strings.ToLower(u.Host)
	own := ":80"
	if u.Scheme == "https" {
		own = ":443"
	}
	return Origin(u.Scheme + "://" + strings.TrimSuffix(strings.TrimSuffix(host, own), ":"))
}
