package host

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// allowedHost is one entry of allowed_outbound_hosts. "*" matches any scheme, host or
// port; a host "*.example.com" matches every name below example.com.
type allowedHost struct{ scheme, host, port string }

// parseAllowed parses entries of the form scheme://host[:port]. A URL from a variable may
// end in a slash. A longer path is an error, since it would look like a restriction but
// have no effect.
func parseAllowed(entries []string, vars map[string]string) ([]allowedHost, error) {
	var allowed []allowedHost
	var errs []error
	for _, entry := range entries {
		text, err := expand(entry, vars)
		if err == nil {
			var a allowedHost
			a, err = parseAllowedHost(text)
			allowed = append(allowed, a)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("allowed_outbound_hosts %q: %w", entry, err))
		}
	}
	return allowed, errors.Join(errs...)
}

func parseAllowedHost(text string) (allowedHost, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	rest = strings.TrimSuffix(rest, "/")
	if !ok || rest == "" || strings.ContainsAny(rest, "/?#@,{") {
		return allowedHost{}, fmt.Errorf("%q is not scheme://host:port", text)
	}
	host, port := rest, ""
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, ']') {
		host, port = rest[:i], rest[i+1:]
	}
	if port == "" {
		port = defaultPort(scheme)
	}
	if scheme != "*" && defaultPort(scheme) == "" || port == "" || host == "" {
		return allowedHost{}, fmt.Errorf("%q: scheme, host or port is not supported", text)
	}
	return allowedHost{scheme, strings.ToLower(strings.Trim(host, "[]")), port}, nil
}

func defaultPort(scheme string) string {
	switch scheme {
	case "http":
		return "80"
	case "https":
		return "443"
	}
	return ""
}

// allows reports whether a request to u may be made.
func (a allowedHost) allows(u *url.URL) bool {
	port := u.Port()
	if port == "" {
		port = defaultPort(u.Scheme)
	}
	return (a.scheme == "*" || a.scheme == u.Scheme) &&
		(a.port == "*" || a.port == port) &&
		hostMatches(a.host, strings.ToLower(u.Hostname()))
}

func hostMatches(pattern, host string) bool {
	if pattern == "*" {
		return true
	}
	if below, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasPrefix(below, ".") && strings.HasSuffix(host, below)
	}
	return pattern == host
}
