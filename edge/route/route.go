// Package route decides which requests the edge handles itself and which it forwards,
// by method and path only.
package route

import (
	"net/url"
	"strings"

	"kith/core"
	"kith/core/link"
)

// Kind is the kind of a request.
type Kind uint8

const (
	// Other is a request that the edge forwards to the backend.
	Other Kind = iota
	// ShareLink is GET or HEAD /s/{tenant}/{code}.
	ShareLink
	// Page is GET or HEAD of a shop's page.
	Page
	// Code is GET /api/v1/{tenant}/code/{code}.
	Code
	// Script is GET or HEAD of the browser script.
	Script
	// OpenCode is GET /api/v1/{tenant}/open/code/{code}.
	OpenCode
	// Events is POST /api/v1/{tenant}/open/account/{account}/user/{user}/events.
	Events
	// Identify is PUT /api/v1/{tenant}/open/account/{account}/user/{user}.
	Identify
	// GraphQL is POST /api/v1/{tenant}/graphql.
	GraphQL
	// Ready is GET or HEAD /readyz.
	Ready
)

// Route is a request's kind and the decoded names in its path. A request with an
// invalid name is Other: the backend responds with the error.
type Route struct {
	Kind    Kind
	Tenant  core.TenantAlias
	Code    core.ReferralCode
	Account core.AccountID
	User    core.UserID
}

// Parse returns the route of a request by its method and its path as sent.
func Parse(method, path string) Route {
	reads := method == "GET" || method == "HEAD"
	switch {
	case reads && path == link.ScriptPath:
		return Route{Kind: Script}
	case reads && path == link.ReadyPath:
		return Route{Kind: Ready}
	case reads && strings.HasPrefix(path, "/s/"):
		return shareLink(path[len("/s/"):])
	case strings.HasPrefix(path, "/api/v1/"):
		return api(method, path[len("/api/v1/"):])
	case reads && !link.OwnPath(path):
		return Route{Kind: Page}
	}
	return Route{}
}

func shareLink(rest string) Route {
	var segments [2]string
	if !split(rest, segments[:]) {
		return Route{}
	}
	return withCode(Route{Kind: ShareLink}, segments[0], segments[1])
}

func api(method, rest string) Route {
	var segments [7]string
	switch {
	case method == "GET" && split(rest, segments[:3]) && segments[1] == "code":
		return withCode(Route{Kind: Code}, segments[0], segments[2])
	case method == "GET" && split(rest, segments[:4]) && segments[1] == "open" && segments[2] == "code":
		return withCode(Route{Kind: OpenCode}, segments[0], segments[3])
	case method == "PUT" && split(rest, segments[:6]) && segments[1] == "open" && segments[2] == "account" && segments[4] == "user":
		return withUser(Route{Kind: Identify}, segments[0], segments[3], segments[5])
	case method == "POST" && split(rest, segments[:2]) && segments[1] == "graphql":
		return withTenant(Route{Kind: GraphQL}, segments[0])
	case method == "POST" && split(rest, segments[:7]) && segments[1] == "open" &&
		segments[2] == "account" && segments[4] == "user" && segments[6] == "events":
		return withUser(Route{Kind: Events}, segments[0], segments[3], segments[5])
	}
	return Route{}
}

func withTenant(r Route, tenant string) Route {
	var err error
	if r.Tenant, err = core.ParseTenantAlias(tenant); err != nil {
		return Route{}
	}
	return r
}

func withCode(r Route, tenant, code string) Route {
	var tenantErr, codeErr error
	r.Tenant, tenantErr = core.ParseTenantAlias(tenant)
	r.Code, codeErr = core.ParseReferralCode("", code)
	if tenantErr != nil || codeErr != nil {
		return Route{}
	}
	return r
}

func withUser(r Route, tenant, account, user string) Route {
	var tenantErr, accountErr, userErr error
	r.Tenant, tenantErr = core.ParseTenantAlias(tenant)
	r.Account, accountErr = core.ParseAccountID("", account)
	r.User, userErr = core.ParseUserID("", user)
	if tenantErr != nil || accountErr != nil || userErr != nil {
		return Route{}
	}
	return r
}

// split splits a path into exactly len(into) segments and decodes each, so that an id
// may contain an encoded slash. No path of the API has a segment of dots that are not encoded.
func split(path string, into []string) bool {
	for i := range into {
		segment, rest, more := strings.Cut(path, "/")
		if more != (i < len(into)-1) || segment == "." || segment == ".." {
			return false
		}
		decoded, err := url.PathUnescape(segment)
		if err != nil {
			return false
		}
		into[i], path = decoded, rest
	}
	return true
}
