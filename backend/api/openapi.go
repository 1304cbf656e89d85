package api

import (
	_ "embed"
	"net/http"
	"sync"

	"github.com/goccy/go-yaml"
)

// openapiYAML describes the whole REST surface; tests compare it with the
// routes and with what the stories send and get. It is written by hand: bodies
// are written by core/wire, not by structs that it could be made from.
//
//go:embed openapi.yaml
var openapiYAML []byte

func (a *API) openapiRoutes() routes {
	return routes{"/api/v1/openapi.json": {"GET": openapi}}
}

// openapiJSON converts the document, once: that takes 155 ms and 16 MB, and anybody
// may ask for it.
var openapiJSON = sync.OnceValues(func() ([]byte, error) { return yaml.YAMLToJSON(openapiYAML) })

// openapi is GET /api/v1/openapi.json.
func openapi(w http.ResponseWriter, _ *http.Request) error {
	document, err := openapiJSON()
	if err != nil {
		return err
	}
	w.Header().Set("Access-Control-Allow-Origin", "*")
	writeJSON(w, http.StatusOK, document)
	return nil
}
