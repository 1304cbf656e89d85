package host

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// With Options.StrictSpin a host behaves as Spin does wherever a component or a visitor
// can notice it. The references are to version 4 of github.com/spinframework/spin, below
// crates/, and to the libraries that it uses:
//
//   - Every request has its own instance (trigger-http/src/spin.rs).
//   - Every sqlite.open returns its own connection, made at its first statement
//     (sqlite-inproc/src/lib.rs, sqlite-libsql/src/lib.rs). A libSQL server is
//     reached by http or https only (sqlite/src/lib.rs, check_url).
//   - Outbound requests follow up to 10 redirects, and only the first URL is
//     checked against allowed_outbound_hosts (factor-outbound-http/src/spin.rs;
//     reqwest, src/redirect.rs). Every failure is a runtime error, and headers of
//     an answer that are not ASCII are dropped (same file).
//   - The client of outbound requests encodes some characters of a URL, reads a
//     backslash as a slash and removes segments of dots (url, src/parser.rs).
//   - The client asks for gzip unless the component asks for something, and unpacks it
//     (reqwest, src/async_impl/decoder.rs).
//   - Headers named spin-* of a client are passed on, before Spin's own
//     (trigger-http/src/headers.rs).
//   - Variables are resolved at each call (expressions/src/lib.rs).
//   - A request has at most 100 headers; more are answered with 431 (hyper,
//     src/server/conn/http1.rs, max_headers). A method that the ABI does not have is
//     answered with 405, a failed component and a header that is not UTF-8 with 500, all
//     without a body
//     (trigger-http/src/spin.rs, server.rs).
//   - Of repeated response headers only the last is sent
//     (trigger-http/src/headers.rs, append_headers).
//   - A response to HEAD with an empty body has a Content-Length only when the
//     component sets it (hyper, src/proto/h1/role.rs).
const (
	strictHeaders   = 100
	strictRedirects = 10
)

// followRedirects sends requests as Spin's client does: net/http and reqwest use the same
// method, body and credentials after a redirect.
func followRedirects(transport http.RoundTripper) func(*http.Request) (*http.Response, error) {
	client := &http.Client{Transport: transport, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) > strictRedirects {
			return errors.New("host: too many redirects")
		}
		return nil
	}}
	return func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("Accept") == "" {
			r.Header.Set("Accept", "*/*") // reqwest, src/async_impl/client.rs
		}
		if r.Header.Get("Accept-Encoding") == "" {
			r.Header.Set("Accept-Encoding", "gzip")
		}
		response, err := client.Do(r)
		if err != nil || response.Header.Get("Content-Encoding") != "gzip" {
			return response, err
		}
		unpacked, err := gzip.NewReader(response.Body)
		if err != nil {
			return nil, errors.Join(err, response.Body.Close())
		}
		response.Header.Del("Content-Encoding")
		response.Header.Del("Content-Length")
		response.ContentLength = -1
		response.Body = struct {
			io.Reader
			io.Closer
		}{unpacked, response.Body}
		return response, nil
	}
}

// asSpinSends returns the target of an outbound request as Spin's client sends it.
func asSpinSends(target string) string {
	scheme, rest, _ := strings.Cut(target, "://")
	whole, query, asked := strings.Cut(rest, "?")
	host, path, _ := strings.Cut(strings.ReplaceAll(whole, `\`, "/"), "/")
	kept := []string{}
	all := strings.Split(path, "/")
	for i, segment := range all {
		dots := strings.ReplaceAll(strings.ToLower(segment), "%2e", ".")
		if dots == ".." && len(kept) > 0 {
			kept = kept[:len(kept)-1]
		}
		if dots != "." && dots != ".." {
			kept = append(kept, segment)
		} else if i == len(all)-1 {
			kept = append(kept, "")
		}
	}
	target = scheme + "://" + host + "/" + percentEncoded(strings.Join(kept, "/"), "\"<>^`{}")
	if asked {
		target += "?" + percentEncoded(query, "\"<>'")
	}
	return target
}

func percentEncoded(text, characters string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' || strings.IndexByte(characters, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// beyondASCII reports whether the value of a header has characters other than visible
// ASCII, space and tab.
func beyondASCII(value string) bool {
	return strings.IndexFunc(value, func(r rune) bool { return (r < ' ' && r != '\t') || r >= 0x7f }) >= 0
}

// variable returns the value of a variable of the component.
func (h *Host) variable(name string) (string, bool) {
	if !h.options.StrictSpin {
		value, ok := h.app.variables[name]
		return value, ok
	}
	template, ok := h.app.templates[name]
	if !ok {
		return "", false
	}
	value, err := expand(template, h.app.values)
	return value, err == nil
}

// refuseAsSpin answers requests that Spin refuses without calling the component.
func refuseAsSpin(w http.ResponseWriter, r *http.Request, known bool) bool {
	switch {
	case countHeaders(r.Header)+1 > strictHeaders: // plus Host, which net/http stores separately
		w.WriteHeader(http.StatusRequestHeaderFieldsTooLarge)
	case !utf8Headers(r.Header):
		w.WriteHeader(http.StatusInternalServerError)
	case !known:
		w.WriteHeader(http.StatusMethodNotAllowed)
	default:
		return false
	}
	return true
}

func utf8Headers(all http.Header) bool {
	for _, values := range all {
		for _, value := range values {
			if !utf8.ValidString(value) {
				return false
			}
		}
	}
	return true
}

// lastOfEach returns the last header of each name, in the order of the first.
func lastOfEach(headers []header) []header {
	kept := headers[:0]
	for _, h := range headers {
		same := func(other header) bool { return strings.EqualFold(other.name, h.name) }
		if i := slices.IndexFunc(kept, same); i >= 0 {
			kept[i] = h
		} else {
			kept = append(kept, h)
		}
	}
	return kept
}
