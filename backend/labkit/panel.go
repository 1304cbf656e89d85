package labkit

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Panel serves the controls of a lab. All accept a form and answer with JSON; a browser is
// redirected to the page. Requests from pages of other sites are refused.
type Panel struct {
	Mux *http.ServeMux
	// Now returns the time of the lab, which is in each answer.
	Now func() time.Time
}

// Handle adds a control. do runs it, and returns further fields of the answer.
func (p Panel) Handle(pattern string, do func(*http.Request) (map[string]any, error)) {
	guard := http.NewCrossOriginProtection()
	p.Mux.Handle(pattern, guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fields, err := do(r)
		p.answer(w, r, fields, err)
	})))
}

func (p Panel) answer(w http.ResponseWriter, r *http.Request, fields map[string]any, err error) {
	switch browser := strings.Contains(r.Header.Get("Accept"), "text/html"); {
	case browser && err != nil:
		http.Redirect(w, r, "/?problem="+url.QueryEscape(err.Error()), http.StatusSeeOther)
	case browser:
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case err != nil:
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
	default:
		if fields == nil {
			fields = map[string]any{}
		}
		fields["now"] = p.Now()
		writeJSON(w, http.StatusOK, fields)
	}
}

// Lab is the part of a lab that the controls of all labs need.
type Lab interface {
	SetMode(Mode) error
	Flush(ctx context.Context)
}

// HandleCommon adds the controls that all labs have: how messages are sent, which calls fail,
// and the sending of what is due. GET /lab/state returns the state as JSON.
func (p Panel) HandleCommon(lab Lab, faults *Faults, state func() any) {
	p.Handle("POST /lab/mode", func(r *http.Request) (map[string]any, error) {
		return nil, lab.SetMode(Mode(r.PostFormValue("mode")))
	})
	p.Handle("POST /lab/faults", func(r *http.Request) (map[string]any, error) {
		if err := r.ParseForm(); err != nil {
			return nil, err
		}
		return nil, faults.Plan(r.PostForm)
	})
	p.Handle("POST /lab/flush", func(r *http.Request) (map[string]any, error) {
		lab.Flush(r.Context())
		return nil, nil
	})
	p.Mux.HandleFunc("GET /lab/state", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, state()) })
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// An error means that the client has closed the connection.
	_ = json.NewEncoder(w).Encode(value)
}
