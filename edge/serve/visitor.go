package serve

import (
	"strings"

	"kith/core/auth"
	"kith/core/link"
)

// visitor is where a request came from.
type visitor struct {
	// address is the client's IP address, or empty when the host tells none.
	address      string
	scheme, host string
}

// visitor reads the connection as the host saw it. X-Forwarded headers are read
// only when the peer is in one of the networks that the operator listed: anybody
// can send them.
func (r *request) visitor() visitor {
	peer := r.header("spin-client-addr")
	scheme, _, _ := strings.Cut(r.header("spin-full-url"), "://")
	v := visitor{scheme: scheme, host: r.header("host")}
	var trusted auth.Networks
	if r.isForwarded() {
		// The host program refuses a list that cannot be read; elsewhere it trusts
		// nobody.
		trusted, _ = auth.ParseNetworks(trustedProxiesVariable, r.variable(trustedProxiesVariable))
	}
	if client, ok := auth.Client(peer, r.headers(auth.ForwardedForHeader, ","), trusted); ok {
		v.address = client.String()
	}
	if !trusted.Trusted(peer) {
		return v
	}
	if proto := auth.LastForwarded(r.headers(auth.ForwardedProtoHeader, ",")); proto != "" {
		v.scheme = proto
	}
	if host := auth.LastForwarded(r.headers(auth.ForwardedHostHeader, ",")); host != "" {
		v.host = host
	}
	return v
}

// isForwarded reports whether somebody claims that a proxy sent the request.
func (r *request) isForwarded() bool {
	return r.header(auth.ForwardedForHeader) != "" || r.header(auth.ForwardedProtoHeader) != "" || r.header(auth.ForwardedHostHeader) != ""
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
