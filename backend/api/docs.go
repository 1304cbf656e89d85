package api

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"kith/backend/api/docs"
	"kith/backend/graphql"
	"kith/core/link"
	"kith/core/wire"
)

// documentation is one page that describes the API.
type documentation struct {
	kind, tag string
	// packed is the page in gzip.
	packed []byte
}

// documentationCache is how long a browser keeps a page; it asks by the page's tag
// afterwards.
const documentationCache = "public, max-age=3600"

// documentationPages are the pages by their paths. They are public. The paths do
// not belong to the service (link.OwnPath), since a shop may have pages there: behind
// its proxy they are the shop's, and so is a request with a referral code.
var documentationPages = map[string]func() (documentation, error){
	"/docs": onceDocumented("text/html; charset=utf-8", func() ([]byte, error) {
		document, err := openapiJSON()
		if err != nil {
			return nil, err
		}
		return docs.REST(document)
	}),
	"/docs/graphql":        onceDocumented("text/html; charset=utf-8", func() ([]byte, error) { return docs.GraphQL(graphql.SDL()) }),
	"/docs/schema.graphql": onceDocumented("text/plain; charset=utf-8", func() ([]byte, error) { return []byte(graphql.SDL()), nil }),
}

// onceDocumented renders a page when it is asked for first.
func onceDocumented(kind string, render func() ([]byte, error)) func() (documentation, error) {
	return sync.OnceValues(func() (documentation, error) {
		text, err := render()
		if err != nil {
			return documentation{}, err
		}
		var packed bytes.Buffer
		zip := gzip.NewWriter(&packed)
		_, _ = zip.Write(text) // a buffer takes all
		_ = zip.Close()
		sum := sha256.Sum256(text)
		return documentation{kind, hex.EncodeToString(sum[:8]), packed.Bytes()}, nil
	})
}

// documented writes the page at a path to GET and HEAD.
func documented(w http.ResponseWriter, r *http.Request, render func() (documentation, error)) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return wire.MethodNotAllowed(r.Method)
	}
	page, err := render()
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", page.kind)
	h.Set("Content-Security-Policy", docs.Policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", documentationCache)
	h.Set("Vary", "Accept-Encoding")
	zipped := acceptsGzip(r)
	tag := `"` + page.tag + `"`
	if zipped {
		tag = `"` + page.tag + `-gzip"`
	}
	h.Set("ETag", tag)
	if link.MatchesTag(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return writePacked(w, page.packed, zipped)
}

func acceptsGzip(r *http.Request) bool {
	return link.AcceptsGzip(strings.Join(r.Header.Values("Accept-Encoding"), ","))
}

// writePacked writes what is in gzip: as it is to a client that accepts that.
func writePacked(w http.ResponseWriter, packed []byte, accepted bool) error {
	text := packed
	if accepted {
		w.Header().Set("Content-Encoding", "gzip")
	} else {
		zip, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return err
		}
		if text, err = io.ReadAll(zip); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text)
	return nil
}
