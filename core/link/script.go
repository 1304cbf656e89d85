package link

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"kith/core"
)

// Script is the browser script, as edge and backend serve it.
type Script struct {
	text, gzip []byte
	version    string
}

// NewScript returns a script by its text and the same, compressed; empty if it is not compressed.
// It computes the version, which takes longer than a response.
func NewScript(text, gzip []byte) Script {
	sum := sha256.Sum256(text)
	return Script{text, gzip, hex.EncodeToString(sum[:8])}
}

// ScriptAnswer is the response to a request for the script.
type ScriptAnswer struct {
	Status  int         // 200 or 304
	Headers [][2]string // names in lower case, and values
	Body    []byte      // must not be changed
}

// Cache-Control of the script: a URL with its version never has other content, and the
// URL without a version is revalidated after 1 hour.
const (
	versionedCache   = "public, max-age=31536000, immutable"
	unversionedCache = "public, max-age=3600, stale-while-revalidate=86400"
)

// Version returns the value of the parameter v in the URL of this content: the first 8
// bytes of its SHA-256 hash.
func (s Script) Version() string { return s.version }

// Answer returns the response to GET by the request's query, Accept-Encoding and
// If-None-Match. The error is not-found for the version of other content: a page that
// pins a version with a hash must not get other bytes, and no cache may store them under
// that version.
func (s Script) Answer(query, acceptEncoding, ifNoneMatch string) (ScriptAnswer, error) {
	cache := unversionedCache
	for parameter := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(parameter, "="); name == "v" {
			if value != s.version {
				return ScriptAnswer{}, core.NotFound("v: not the version of this service's kith.js; leave v out to get the current one")
			}
			cache = versionedCache
		}
	}
	tag, body := `"`+s.version+`"`, s.text
	headers := [][2]string{
		{"cache-control", cache},
		{"vary", "Accept-Encoding"},
		// Pages of any origin may load it, also with an integrity hash (CORS), and if they
		// accept only what permits it (CORP). The script is public.
		{"access-control-allow-origin", "*"},
		{"cross-origin-resource-policy", "cross-origin"},
	}
	if len(s.gzip) > 0 && AcceptsGzip(acceptEncoding) {
		tag, body = `"`+s.version+`-gzip"`, s.gzip
		headers = append(headers, [2]string{"content-encoding", "gzip"})
	}
	headers = append(headers, [2]string{"etag", tag})
	if MatchesTag(ifNoneMatch, tag) {
		return ScriptAnswer{Status: 304, Headers: headers}, nil
	}
	headers = append(headers, [2]string{"content-type", "text/javascript; charset=utf-8"})
	return ScriptAnswer{Status: 200, Headers: headers, Body: body}, nil
}

// AcceptsGzip reports whether an Accept-Encoding header permits gzip (RFC 9110,
// 12.5.3).
func AcceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, weight, _ := strings.Cut(part, ";")
		coding = strings.ToLower(strings.TrimSpace(coding))
		if coding != "gzip" && coding != "*" {
			continue
		}
		_, q, _ := strings.Cut(strings.ToLower(weight), "q=")
		return strings.Trim(q, "0. ") != "" || q == ""
	}
	return false
}

// MatchesTag reports whether an If-None-Match header matches a tag.
func MatchesTag(header, tag string) bool {
	for known := range strings.SplitSeq(header, ",") {
		known = strings.TrimPrefix(strings.TrimSpace(known), "W/")
		if known == tag || known == "*" {
			return true
		}
	}
	return false
}
