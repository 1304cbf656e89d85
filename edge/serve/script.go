package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"kith/edge/abi"
	"kith/edge/script"
)

// How long a browser keeps the script: for good under a URL that names its
// version, as ?v=, and otherwise for an hour, after which it asks whether there is
// a new one.
const (
	versionedCache   = "public, max-age=31536000, immutable"
	unversionedCache = "public, max-age=3600, stale-while-revalidate=86400"
)

// script answers with the browser script, compressed for whom that suits.
func (r *request) script() abi.Response {
	sum := sha256.Sum256([]byte(script.Text))
	version := hex.EncodeToString(sum[:8])
	cache := unversionedCache
	if r.query == "v="+version {
		cache = versionedCache
	}
	tag, body := `"`+version+`"`, script.Text
	headers := []abi.Header{
		{Name: "cache-control", Value: cache},
		{Name: "vary", Value: "Accept-Encoding"},
	}
	if script.Gzip != "" && acceptsGzip(r.headers("accept-encoding", ",")) {
		tag, body = `"`+version+`-gzip"`, script.Gzip
		headers = append(headers, abi.Header{Name: "content-encoding", Value: "gzip"})
	}
	headers = append(headers, abi.Header{Name: "etag", Value: tag})
	if knows(r.headers("if-none-match", ","), tag) {
		return abi.Response{Status: 304, Headers: headers}
	}
	headers = append(headers,
		abi.Header{Name: "content-type", Value: "text/javascript; charset=utf-8"},
		abi.Header{Name: "x-content-type-options", Value: "nosniff"},
	)
	return abi.Response{Status: 200, Headers: headers, Body: []byte(body)}
}

// acceptsGzip reads an Accept-Encoding header (RFC 9110, 12.5.3).
func acceptsGzip(header string) bool {
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

// knows reports whether an If-None-Match header has a tag.
func knows(header, tag string) bool {
	for known := range strings.SplitSeq(header, ",") {
		known = strings.TrimPrefix(strings.TrimSpace(known), "W/")
		if known == tag || known == "*" {
			return true
		}
	}
	return false
}
