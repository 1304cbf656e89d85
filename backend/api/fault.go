package api

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"kith/core"
	texts "kith/core/text"
	"kith/core/wire"
)

// recovering answers 500 if next panics, and logs where. Without it, net/http would close the
// connection, and a caller could not distinguish that from a network that failed. An answer that has
// begun is cut, so that it is not taken for a whole one.
func recovering(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &answerWriter{ResponseWriter: w}
		defer func() {
			fault := recover()
			if fault == nil {
				return
			}
			if err, ok := fault.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(fault)
			}
			log.Error("request failed: its handler panicked", "id", r.Header.Get(core.RequestIDHeader), "method", r.Method, "route", r.Pattern, "value", fault, "stack", string(debug.Stack()))
			if answer.begun {
				panic(http.ErrAbortHandler)
			}
			status, body := wire.Failure(&core.Error{})
			if r.Method == http.MethodGet && texts.WantsPage(strings.Join(r.Header.Values("Accept"), ",")) {
				p := texts.ErrorPage(status, texts.Wanted("", "", r.Header.Get("Accept-Language")))
				writePage(w, status, p)
				return
			}
			writeJSON(w, status, body)
		}()
		next.ServeHTTP(answer, r)
	})
}

// answerWriter knows whether an answer has begun.
type answerWriter struct {
	http.ResponseWriter
	begun bool
}

func (w *answerWriter) WriteHeader(status int) {
	w.begun = w.begun || status >= 200
	w.ResponseWriter.WriteHeader(status)
}

func (w *answerWriter) Write(b []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
