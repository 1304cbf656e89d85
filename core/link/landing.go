package link

import (
	"net/url"
	"strings"

	"kith/core"
)

// parameter is a name and value in a query.
type parameter struct{ name, value string }

// merge returns the URL target with parameters added to its query. Parameters with an
// empty value are left out. Existing parameters of the same names are removed, others
// are unchanged.
func merge(target string, with []parameter) string {
	rest, fragment, hasFragment := strings.Cut(target, "#")
	base, query, _ := strings.Cut(rest, "?")
	for _, p := range with {
		query = without(query, p.name)
	}
	var b strings.Builder
	b.Grow(len(target) + 64)
	b.WriteString(base)
	separator := byte('?')
	if query != "" {
		b.WriteByte('?')
		b.WriteString(query)
		separator = '&'
	}
	for _, p := range with {
		if p.value == "" {
			continue
		}
		b.WriteByte(separator)
		b.WriteString(p.name)
		b.WriteByte('=')
		b.WriteString(url.QueryEscape(p.value))
		separator = '&'
	}
	if hasFragment {
		b.WriteByte('#')
		b.WriteString(fragment)
	}
	return b.String()
}

// without returns a query without the parameters of that name. The others keep their
// order and encoding.
func without(query, name string) string {
	if !has(query, name) {
		return query
	}
	kept := make([]string, 0, 8)
	for pair := range strings.SplitSeq(query, "&") {
		if !named(pair, name) {
			kept = append(kept, pair)
		}
	}
	return strings.Join(kept, "&")
}

// value returns the first value of name in a query, decoded, or "" if it is absent or
// cannot be decoded.
func value(query, name string) string {
	for query != "" {
		var pair string
		if pair, query, _ = strings.Cut(query, "&"); named(pair, name) {
			_, text, _ := strings.Cut(pair, "=")
			decoded, err := url.QueryUnescape(text)
			if err != nil {
				return ""
			}
			return decoded
		}
	}
	return ""
}

// Locale returns the language that a query asks for, or "".
func Locale(query string) string { return value(query, LocaleParameter) }

// has reports whether a query has a parameter of that name.
func has(query, name string) bool {
	for query != "" {
		var pair string
		if pair, query, _ = strings.Cut(query, "&"); named(pair, name) {
			return true
		}
	}
	return false
}

// named reports whether a pair of a query has that name. The name may be
// percent-encoded, because a shop also reads "rs%43ode" as rsCode.
func named(pair, name string) bool {
	key, _, _ := strings.Cut(pair, "=")
	if key == name || !strings.Contains(key, "%") {
		return key == name
	}
	decoded, err := url.QueryUnescape(key)
	return err == nil && decoded == name
}

// location returns a URL for a Location header: blanks, controls and non-ASCII bytes
// are percent-encoded, as by a browser.
func location(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	kept := 0 // the bytes before it are in b
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f {
			b.WriteString(s[kept:i])
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
			kept = i + 1
		}
	}
	if kept == 0 {
		return s
	}
	b.WriteString(s[kept:])
	return b.String()
}

// maxLanding is the most bytes of a landing page's URL, near the limits of browsers
// and proxies.
const maxLanding = 2048

// landing returns the page that a share link redirects to: wanted if it is an
// absolute URL on a host that the program allows, else the program's own page. So a
// share link is not an open redirect, and a wrong URL still leads to the shop.
func landing(p Program, wanted string) string {
	if wanted == "" || len(wanted) > maxLanding || strings.ContainsAny(wanted, "\\\r\n\t ") {
		return p.LandingURL
	}
	u, err := url.Parse(wanted)
	if err != nil || u.User != nil || u.Opaque != "" {
		return p.LandingURL
	}
	own, err := url.Parse(p.LandingURL)
	if err != nil {
		return p.LandingURL
	}
	if u.Scheme != "https" && u.Scheme != own.Scheme || !allowed(p, own.Host, u.Host) {
		return p.LandingURL
	}
	return wanted
}

func allowed(p Program, own, host string) bool {
	if host == "" {
		return false
	}
	if strings.EqualFold(host, own) {
		return true
	}
	for _, h := range p.AllowedHosts {
		if strings.EqualFold(host, h) {
			return true
		}
	}
	return false
}

// ValidLandingURL reports whether s may be a landing page: an absolute http or https
// URL without credentials, of at most 2048 bytes.
func ValidLandingURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && core.ValidPort(u.Port()) &&
		u.User == nil && len(s) <= maxLanding
}

// OriginOf returns the scheme and host of a landing page, or "" if s is not a valid
// one.
func OriginOf(s string) string {
	u, err := url.Parse(s)
	if err != nil || !ValidLandingURL(s) {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Loopback reports whether a Host header names the local machine. The header is under
// the client's control, so links are built from it only on a developer's machine.
func Loopback(host string) bool {
	if address, rest, ok := strings.Cut(host, "]"); ok {
		return address == "[::1" && (rest == "" || rest[0] == ':')
	}
	name, _, _ := strings.Cut(host, ":")
	return name == "localhost" || name == "127.0.0.1"
}

// Sent returns a link to a path of the service, for a message to another person. It begins
// with origin, or, on a developer's machine, with the scheme and host of the request. It is
// the path if neither is known: a host that a request names is under the client's control.
func Sent(origin, scheme, host, path string) string {
	switch {
	case origin != "":
		return strings.TrimSuffix(origin, "/") + path
	case Loopback(host):
		return scheme + "://" + host + path
	}
	return path
}

// ValidOrigin reports whether s may be the origin of share links: http or https and a
// host, without a path. Its port is at most 65535.
func ValidOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && ValidLandingURL(s) && s == u.Scheme+"://"+u.Host
}
