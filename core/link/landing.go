package link

import (
	"net/url"
	"strings"
)

// parameter is one name and value of a query.
type parameter struct{ name, value string }

// merge returns target with the parameters put into its query, before its
// fragment. What target already has stays as it is written, but for parameters
// of the same names, which are replaced; an empty value is left out.
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

// without returns a query without the parameters of that name; the others keep
// their order and spelling.
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

// value returns the first value of name in a query, decoded, or "" when it is
// absent or not decodable.
func value(query, name string) string {
	for pair := range strings.SplitSeq(query, "&") {
		if named(pair, name) {
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

// has reports whether a query has a parameter of that name.
func has(query, name string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		if named(pair, name) {
			return true
		}
	}
	return false
}

// named reports whether a pair of a query has that name, which may be encoded:
// a shop reads "rs%43ode" as rsCode, so it is one here too.
func named(pair, name string) bool {
	key, _, _ := strings.Cut(pair, "=")
	if key == name || !strings.Contains(key, "%") {
		return key == name
	}
	decoded, err := url.QueryUnescape(key)
	return err == nil && decoded == name
}

// location returns a URL as a header may carry it: blanks, controls and bytes
// beyond ASCII are percent-encoded, as a browser would.
func location(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// maxLanding bounds an rsLandingPage, as browsers and proxies bound a URL.
const maxLanding = 2048

// landing returns the page that a share link leads to: wanted, when it is an
// absolute URL on a host that the program allows, else the program's own page.
// A page on any other host is not followed, so that a share link is no open
// redirect, and not an error, so that the visitor still lands in the shop.
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

// ValidLandingURL reports whether a program may land there: absolute, http or
// https, without credentials.
func ValidLandingURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" &&
		u.User == nil && len(s) <= maxLanding
}

// OriginOf is the scheme and host of a landing page; empty when s is none.
func OriginOf(s string) string {
	u, err := url.Parse(s)
	if err != nil || !ValidLandingURL(s) {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Loopback reports whether a Host header names the machine itself. Anybody may write
// anything into that header, so no link begins with what it says, but on a
// developer's machine.
func Loopback(host string) bool {
	if address, rest, ok := strings.Cut(host, "]"); ok {
		return address == "[::1" && (rest == "" || rest[0] == ':')
	}
	name, _, _ := strings.Cut(host, ":")
	return name == "localhost" || name == "127.0.0.1"
}

// ValidOrigin reports whether share links may begin there: http or https, a host
// and nothing else.
func ValidOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && ValidLandingURL(s) && s == u.Scheme+"://"+u.Host
}
