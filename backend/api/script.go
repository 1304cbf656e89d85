package api

import (
	"net/http"
	"strconv"
	"strings"
)

// script handles GET /kith.js: the browser script, as the edge answers it. It is not a
// call of the API, so the OpenAPI document does not have it.
func (a *API) script(w http.ResponseWriter, r *http.Request) error {
	all := func(name string) string { return strings.Join(r.Header.Values(name), ",") }
	answer, err := a.Script.Answer(r.URL.RawQuery, all("Accept-Encoding"), all("If-None-Match"))
	if err != nil {
		return err
	}
	for _, h := range answer.Headers {
		w.Header().Set(h[0], h[1])
	}
	if answer.Status != http.StatusNotModified {
		w.Header().Set("Content-Length", strconv.Itoa(len(answer.Body)))
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write([]byte(answer.Body)) // an error means that the client has disconnected
	return nil
}
