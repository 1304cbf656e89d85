package link

import "strings"

// OwnPath reports whether a path belongs to the service; any other is a page of
// a shop that the service may stand in front of.
func OwnPath(path string) bool {
	for _, root := range [...]string{"/api/", "/a/", "/s/", "/.well-known/"} {
		if strings.HasPrefix(path, root) {
			return true
		}
	}
	return path == "/healthz" || path == "/kith.js"
}
