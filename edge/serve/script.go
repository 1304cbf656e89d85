package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"kith/edge/abi"
	"kith/edge/script"
)

// Cache-Control of the script: a URL with the version, as ?v=, may be cached
// permanently; otherwise browsers revalidate after 1 hour.
const (
	versionedCache   = "public, max-age=31536000, immutable"
	unversionedCache = "public, max-age=3600, stale-while-revalidate=86400"
)

// script returns the browser script, compressed if the client accepts gzip.
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
	if matchesTag(r.headers("if-none-match", ","), tag) {
		return abi.Response{Status: 304, Headers: headers}
	}
	headers = append(headers,
		abi.Header{Name: "content-type", Value: "text/javascript; charset=utf-8"},
		abi.Header{Name: "x-content-type-options", Value: "nosniff"},
	)
	return abi.Response{Status: 200, Headers: headers, Body: []byte(body)}
}

// acceptsGzip reports whether an Accept-Encoding header permits gzip (RFC 9110,
// 12.5.3).
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

// matchesTag reports whether an If-None-Match header matches a tag.
func matchesTag(header, tag string) bool {
	for known := range strings.SplitSeq(header, ",") {
		known = strings.TrimPrefix(strings.TrimSpace(known), "W/")
		if known == tag || known == "*" {
			return true
		}
	}
	return false
}
