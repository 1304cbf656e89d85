package api

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"net/http"
	"sync"
)

// openapiGzip is the compressed OpenAPI document. The build writes it; see package openapi.
//
//go:embed openapi/openapi.json.gz
var openapiGzip []byte

func (a *API) openapiRoutes() routes {
	return routes{"/api/v1/openapi.json": {"GET": openapiDocument}}
}

// openapiJSON returns the document, which any client may request: it is decompressed once.
var openapiJSON = sync.OnceValues(func() ([]byte, error) {
	in, err := gzip.NewReader(bytes.NewReader(openapiGzip))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(in)
})

// OpenAPI returns the document that GET /api/v1/openapi.json answers. The caller must not
// change it.
func OpenAPI() ([]byte, error) { return openapiJSON() }

// openapiDocument handles GET /api/v1/openapi.json.
func openapiDocument(w http.ResponseWriter, _ *http.Request) error {
	document, err := openapiJSON()
	if err != nil {
		return err
	}
	w.Header().Set("Access-Control-Allow-Origin", "*")
	writeJSON(w, http.StatusOK, document)
	return nil
}
