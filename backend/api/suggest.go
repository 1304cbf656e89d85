package api

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"kith/core"
	"kith/core/link"
	"kith/core/origin"
	"kith/core/wire"
)

// withoutSlash returns a request for a path of the API or a share link without the slash
// at its end.
func withoutSlash(r *http.Request) *http.Request {
	path := r.URL.EscapedPath()
	if !strings.HasSuffix(path, "/") || link.Unclean(path) || !link.OwnPath(r.URL.Path) {
		return r
	}
	u := *r.URL
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(u.RawPath, "/")
	trimmed := *r
	trimmed.URL = &u
	return &trimmed
}

// serve returns a handler that calls the one of the request's method, or answers 405. GET
// serves HEAD.
func (a *API) serve(m methods) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if h, ok := m[methodOf(r)]; ok {
			if r.Method != http.MethodGet && r.Method != http.MethodHead && len(r.Header.Values(core.KeyHeader)) > 0 {
				w.Header().Set(onceHeader, "ignored")
			}
			return h(w, r)
		}
		var allow []string
		for _, name := range []string{"GET", "HEAD", "POST", "PUT", "DELETE"} {
			if _, ok := m[name]; ok || name == "HEAD" && m["GET"] != nil {
				allow = append(allow, name)
			}
		}
		w.Header().Set("Allow", strings.Join(allow, ", "))
		err := wire.MethodNotAllowed(r.Method)
		if meant := a.suggested(r); meant != "" {
			err.Message += ", or did you mean " + r.Method + " " + meant + "?"
		}
		return err
	}
}

// methodOf returns the method whose handler serves a request.
func methodOf(r *http.Request) string {
	if r.Method == http.MethodHead {
		return http.MethodGet
	}
	return r.Method
}

// noSuchPath answers a request for an unknown path with 404, and with the path that was
// probably meant. On paths without a tenant a page of any origin may read the answer, since
// it contains no data.
func (a *API) noSuchPath(w http.ResponseWriter, r *http.Request) error {
	from := r.Header.Get("Origin")
	if _, covered := origin.Covers(r.URL.EscapedPath()); from != "" && !covered {
		for _, h := range origin.Headers(from, true, false) {
			w.Header().Set(h.Name, h.Value)
		}
	}
	if meant := a.suggested(r); meant != "" {
		return core.NotFound("there is no " + r.URL.EscapedPath() + "; did you mean " + meant + "?")
	}
	return wire.NoSuchPath()
}

// maxSuggested is the most bytes of a path for which another is suggested.
const maxSuggested = 500

// suggested returns the path of the API that is most like the one of a request and has its
// method, or "". It knows the routes only, and nothing of a tenant.
func (a *API) suggested(r *http.Request) (path string) {
	sent := r.URL.EscapedPath()
	if len(sent) > maxSuggested {
		return ""
	}
	segments := slices.DeleteFunc(strings.Split(sent, "/"), func(s string) bool { return s == "" || s == "." })
	rest := segments
	for len(rest) > 0 && slices.Contains([]string{"api", "v1", "v2", "v3", "rest"}, strings.ToLower(rest[0])) {
		rest = rest[1:]
	}
	best := 0
	for _, pattern := range slices.Sorted(maps.Keys(a.offered)) {
		known, ofTenant := strings.CutPrefix(pattern, tenantPath+"/")
		ofAPI := ofTenant
		if !ofTenant {
			known, ofAPI = strings.CutPrefix(pattern, "/api/v1/")
		}
		if _, takes := a.offered[pattern][methodOf(r)]; !ofAPI || !takes {
			continue
		}
		consider := func(tenant string, rest []string, edits int) {
			found, more, ok := spell(strings.Split(known, "/"), rest)
			found = "/api/v1" + tenant + found
			if edits += more; ok && found != sent && (path == "" || edits < best) {
				path, best = found, edits
			}
		}
		if !ofTenant {
			consider("", rest, 0)
			continue
		}
		if len(rest) > 0 {
			consider("/"+rest[0], rest[1:], a.unlikely(rest[0]))
		}
		if len(rest) < len(segments) { // a page of a shop is no call without a tenant
			consider("/{tenant}", rest, 4)
		}
	}
	return path
}

// unlikely returns more than 0 for the alias of a tenant that is probably another segment
// of a path: the tenant was left out.
func (a *API) unlikely(alias string) int {
	for pattern := range a.offered {
		first, _, _ := strings.Cut(strings.TrimPrefix(pattern, tenantPath+"/"), "/")
		if first == alias {
			return 5
		}
	}
	return 0
}

// spell writes a path as a pattern has it, with the names of the sent path. edits is greater
// the more they differ; ok is false if they differ by more than spelling, a letter in a word, and
// "open".
func spell(pattern, sent []string) (path string, edits int, ok bool) {
	for i := 0; i < len(pattern); i++ {
		literal := pattern[i]
		switch {
		case len(sent) > 0 && literal[0] == '{':
			literal, sent = sent[0], sent[1:]
		case len(sent) > 0 && bare(sent[0]) == bare(literal):
			switch {
			case sent[0] == literal:
			case strings.EqualFold(sent[0], literal):
				edits++
			default:
				edits += 2
			}
			sent = sent[1:]
		case len(sent) > 0 && near(bare(sent[0]), bare(literal)):
			edits += 3
			if len(sent[0]) != len(literal) { // /userz is /users rather than /user
				edits++
			}
			sent = sent[1:]
		case literal == "open":
			edits += 2
		case len(sent) > 0 && bare(sent[0]) == "open":
			edits += 2
			sent = sent[1:]
			i--
			continue
		default:
			return "", 0, false
		}
		path += "/" + literal
	}
	return path, edits, len(sent) == 0
}

// near reports whether two words of four letters or more differ by one letter that is missing,
// added, another, or exchanged with the next.
func near(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) < 4 || len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	return i < len(a) && (a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:])
}

// bare returns a word of a path without what people spell in different ways.
func bare(word string) string {
	word = strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(word))
	return strings.TrimSuffix(word, "s")
}
