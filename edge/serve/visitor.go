package serve

import (
	"strings"

	"kith/core/auth"
	"kith/core/link"
)

// visitor is where a request came from.
type visitor struct {
	// address is the visitor's IP address, or a list of them when a trusted
	// proxy told of more.
	address      string
	scheme, host string
}

// visitor reads the connection as the host saw it. What a proxy says is
// believed only when the operator said that there is one: anybody can send
// X-Forwarded headers.
func (r *request) visitor() visitor {
	scheme, _, _ := strings.Cut(r.header("spin-full-url"), "://")
	v := visitor{address: clientIP(r.header("spin-client-addr")), scheme: scheme, host: r.header("host")}
	before, proto, host := r.headers(auth.ForwardedForHeader, ", "), r.header(auth.ForwardedProtoHeader), r.header(auth.ForwardedHostHeader)
	if before == "" && proto == "" && host == "" || r.variable(trustProxyVariable) != "true" {
		return v
	}
	if before != "" {
		v.address = before + ", " + v.address
	}
	if proto != "" {
		v.scheme = proto
	}
	if host != "" {
		v.host = host
	}
	return v
}

// clientIP is the address without its port; the brackets of IPv6 go with it.
func clientIP(address string) string {
	if i := strings.LastIndexByte(address, ':'); i >= 0 {
		address = address[:i]
	}
	return strings.Trim(address, "[]")
}

// visit is the part of a request that decides about links and cookies.
func (r *request) visit(from visitor) link.Visit {
	return link.Visit{
		Method: r.Method, Secure: from.scheme == "https", Host: from.host,
		Path: r.path, Query: r.query, Cookie: r.cookies(),
		UserAgent: r.header("user-agent"), SecPurpose: r.header("sec-purpose"), Purpose: r.header("purpose"),
		GPC: r.header("sec-gpc"), DNT: r.header("dnt"),
	}
}
