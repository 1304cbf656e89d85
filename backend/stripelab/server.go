package stripelab

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"kith/backend/labkit"
)

// endpoint is a call of the gateway.
type endpoint struct {
	do func(*book, *call) object
	// permission is that of a restricted key, without _read or _write.
	permission string
	// params are the known parameters.
	params string
}

func (e endpoint) known() []string { return strings.Fields(e.params) }

func (l *Lab) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for name := range endpoints {
		mux.HandleFunc(name, l.serveCall(name))
	}
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		mux.HandleFunc(method+" /v1/", l.serveCall(method+" /v1/"))
	}
	l.controlRoutes(mux)
	l.checkoutRoutes(mux)
	return mux
}

// serveCall answers one call as the gateway does.
func (l *Lab) serveCall(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if f := l.admit(r, endpoints[name].permission); f != nil {
			l.finish(w, r, answer{status: f.status, body: encode(f.body())})
			return
		}
		f := l.faults.Take(r)
		if f != nil && l.failBefore(w, r, f) {
			return
		}
		c, err := l.read(r, name)
		if err != nil {
			l.finish(w, r, answer{status: http.StatusBadRequest, body: encode(invalid("", "", err.Error()).body())})
			return
		}
		a := l.perform(c)
		if f != nil {
			l.remember(r, answer{fault: f.Kind})
			f.LoseAnswer(r, l.options.Silence)
		}
		l.finish(w, r, a)
	}
}

// read reads the parameters of a request: those in the body, or in the query of a GET or
// DELETE.
func (l *Lab) read(r *http.Request, name string) (*call, error) {
	encoded := r.URL.RawQuery
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		if kind := r.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/x-www-form-urlencoded") {
			return nil, errors.New("the body must be form-encoded")
		}
		if encoded != "" {
			encoded += "&"
		}
		encoded += string(body)
	}
	params, err := parseForm(encoded)
	if err != nil {
		return nil, err
	}
	return &call{
		name: name, path: r.URL.Path, id: r.PathValue("id"), encoded: encoded, form: params,
		base: "http://" + r.Host, idempotency: r.Header.Get("Idempotency-Key"), request: l.readID(),
	}, nil
}

// readID returns the id of a request that changes nothing.
func (l *Lab) readID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	return "req_" + l.book.run + "r" + strconv.Itoa(l.reads)
}

// finish sends an answer, and records it.
func (l *Lab) finish(w http.ResponseWriter, r *http.Request, a answer) {
	if a.request == "" {
		a.request = l.readID()
	}
	l.remember(r, a)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Request-Id", a.request)
	h.Set("Stripe-Version", Version)
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		h.Set("Idempotency-Key", key)
	}
	if a.replayed {
		h.Set("Idempotent-Replayed", "true")
		h.Set("Original-Request", a.request)
	}
	if a.status == http.StatusConflict || a.status >= http.StatusInternalServerError {
		h.Set("Stripe-Should-Retry", "true")
	}
	w.WriteHeader(a.status)
	// An error means that the client has closed the connection.
	_, _ = w.Write(a.body)
}

func (l *Lab) remember(r *http.Request, a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls.Add(labkit.Call{
		At: l.now(), Method: r.Method, Path: r.URL.Path, Status: a.status, Fault: a.fault, Replayed: a.replayed, IdempotencyKey: r.Header.Get("Idempotency-Key"),
	})
}
