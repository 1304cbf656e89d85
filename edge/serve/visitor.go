package serve

import (
	"strings"

	"kith/core/auth"
	"kith/core/link"
)

// Headers of the host.
const (
	fullURLHeader       = "spin-full-url"
	clientAddressHeader = "spin-client-addr"
)

// visitor is the origin of a request.
type visitor struct{ scheme, host string }

// visitor returns the visitor of a request. X-Forwarded headers are used only if the
// peer is in one of the operator's trusted networks, because any client can send
// them.
func (r *request) visitor() visitor {
	scheme, _, _ := strings.Cut(r.byHost(fullURLHeader), "://")
	v := visitor{scheme: scheme, host: r.header("host")}
	if !r.isForwarded() || !r.trustedProxies().Trusted(r.peer()) {
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

// clientAddress returns the visitor's IP address; empty if the host gives none.
func (r *request) clientAddress() string {
	var trusted auth.Networks
	if r.isForwarded() {
		trusted = r.trustedProxies()
	}
	client, ok := auth.Client(r.peer(), r.headers(auth.ForwardedForHeader, ","), trusted)
	if !ok {
		return ""
	}
	return client.String()
}

// peer returns the address of the connection.
func (r *request) peer() string { return r.byHost(clientAddressHeader) }

// trustedProxies returns the operator's trusted networks. kith refuses to start with an
// invalid list; on other hosts, no peer is trusted then.
func (r *request) trustedProxies() auth.Networks {
	trusted, _ := auth.ParseNetworks(trustedProxiesVariable, r.variable(trustedProxiesVariable))
	return trusted
}

// isForwarded reports whether a request has forwarding headers.
func (r *request) isForwarded() bool {
	return r.header(auth.ForwardedForHeader) != "" || r.header(auth.ForwardedProtoHeader) != "" || r.header(auth.ForwardedHostHeader) != ""
}

// visit returns the part of a request on which links and cookies depend.
func (r *request) visit(from visitor) link.Visit {
	return link.Visit{
		Method: r.Method, Secure: from.scheme == "https", Host: from.host,
		Path: r.path, Query: r.query, Cookie: r.cookies(),
		UserAgent: r.header("user-agent"), SecPurpose: r.header("sec-purpose"), Purpose: r.header("purpose"),
		GPC: r.header("sec-gpc"), DNT: r.header("dnt"),
	}
}
