package api

import (
	"net/http"
	"strconv"

	"kith/core/auth"
)

// envelope writes an answer to a hop: the status and the Location that are meant
// for the visitor go into headers of their own, and a redirect leaves as 200. See
// auth.StatusHeader.
type envelope struct {
	http.ResponseWriter
	sealed bool
}

// WriteHeader seals the envelope, unless the status is informational.
func (e *envelope) WriteHeader(status int) {
	if status < 200 || e.sealed {
		e.ResponseWriter.WriteHeader(status)
		return
	}
	e.sealed = true
	h := e.Header()
	h.Set(auth.StatusHeader, strconv.Itoa(status))
	if location := h.Get("Location"); location != "" {
		h.Del("Location")
		h.Set(auth.LocationHeader, location)
	}
	if status >= 300 && status < 400 {
		status = http.StatusOK
	}
	e.ResponseWriter.WriteHeader(status)
}

func (e *envelope) Write(b []byte) (int, error) {
	e.seal()
	return e.ResponseWriter.Write(b)
}

// seal seals an envelope that has no status yet, as net/http would: with 200.
func (e *envelope) seal() {
	if !e.sealed {
		e.WriteHeader(http.StatusOK)
	}
}

// Unwrap lets http.ResponseController reach what is below.
func (e *envelope) Unwrap() http.ResponseWriter { return e.ResponseWriter }
