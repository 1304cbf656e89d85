package link

import "strings"

// ScriptPath is where edge and backend serve the browser script.
const ScriptPath = "/kith.js"

// ReadyPath is the path of the readiness check: whether the edge can read its
// database.
const ReadyPath = "/readyz"

// OwnPath reports whether a path belongs to the service. Any other path is a page of
// the shop, if the edge is in front of one.
func OwnPath(path string) bool {
	for _, root := range [...]string{"/api/", "/s/", "/.well-known/"} {
		if strings.HasPrefix(path, root) {
			return true
		}
	}
	return path == "/healthz" || path == ReadyPath || path == ScriptPath || strings.HasPrefix(path, "/a/") && browserPath(path[len("/a/"):])
}

// Unclean reports whether a path has empty segments or dots, or does not begin with a slash,
// as in a request line with a host and no path. http.ServeMux redirects such a path to its
// clean form, which API clients do not follow and which is wrong for the pages of a shop.
func Unclean(path string) bool {
	rest, rooted := strings.CutPrefix(path, "/")
	for segment := range strings.SplitSeq(rest, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return !rooted || strings.Contains(path, "//")
}

// OpenedByPeople reports whether a path is that of a link that people open in a browser:
// a share link or a message link. An error there is shown as a page to a browser.
func OpenedByPeople(path string) bool {
	if strings.HasPrefix(path, "/s/") {
		return true
	}
	rest, ok := strings.CutPrefix(path, "/a/")
	_, rest, _ = strings.Cut(rest, "/")
	return ok && strings.HasPrefix(rest, "message/")
}

// browserPath reports whether a path after /a/ is one that scripts and messages
// request (clients 1.6): a tenant, then one of a few names. A shop may have other
// pages below /a/.
func browserPath(rest string) bool {
	_, rest, _ = strings.Cut(rest, "/")
	name, rest, more := strings.Cut(rest, "/")
	return (name == "widgets" || name == "message") && more && rest != "" || (name == "visit" || name == "consent") && !more
}
