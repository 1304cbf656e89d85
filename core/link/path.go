package link

import "strings"

// ScriptPath is where the edge serves the browser script.
const ScriptPath = "/kith.js"

// ReadyPath answers whether the edge can read its database.
const ReadyPath = "/readyz"

// OwnPath reports whether a path belongs to the service; any other is a page of
// a shop that the service may stand in front of.
func OwnPath(path string) bool {
	for _, root := range [...]string{"/api/", "/s/", "/.well-known/"} {
		if strings.HasPrefix(path, root) {
			return true
		}
	}
	return path == "/healthz" || path == ReadyPath || path == ScriptPath || strings.HasPrefix(path, "/a/") && browserPath(path[len("/a/"):])
}

// browserPath reports whether the rest of a path below /a/ is one of those that
// scripts and messages call (reference, 1.6): a tenant, then one of few names. A
// shop may well have pages below /a/.
func browserPath(rest string) bool {
	_, rest, _ = strings.Cut(rest, "/")
	name, rest, more := strings.Cut(rest, "/")
	return (name == "widgets" || name == "message") && more && rest != "" || (name == "visit" || name == "consent") && !more
}
