package shop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Call is a call that the shop's server made for a page, as the panel "What happened
// behind this page" shows it.
type Call struct {
	Title        string
	Method, Path string
	Status       int
	Took         time.Duration
	// Curl, Go and TypeScript make the same call.
	Curl, Go, TypeScript string
	Answer               string
}

// Failed reports whether the call was refused or had no answer.
func (c Call) Failed() bool { return c.Status < 200 || c.Status > 299 }

// Milliseconds returns how long the call took.
func (c Call) Milliseconds() string { return fmt.Sprintf("%d ms", c.Took.Milliseconds()) }

// maxShownAnswer is how much of an answer the panel shows, in bytes.
const maxShownAnswer = 4 << 10

// maxAnswer bounds an answer in memory, in bytes.
const maxAnswer = 4 << 20

// maxCalls is the most calls that the panel of a page shows.
const maxCalls = 20

// recorder sends requests and records them as calls of a page.
type recorder struct {
	base http.RoundTripper

	mu    sync.Mutex
	next  Call
	calls []Call
}

// announce says what the next request is, and how Go and TypeScript make it.
func (rec *recorder) announce(title, goCode, typeScript string) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.next = Call{Title: title, Go: goCode, TypeScript: typeScript}
}

// all returns the calls until now.
func (rec *recorder) all() []Call {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return slices.Clone(rec.calls)
}

// exchange sends a request to a gateway, and returns the answer with its body. The time of the
// page bounds it.
func (rec *recorder) exchange(r *http.Request) (*http.Response, []byte, error) {
	response, err := (&http.Client{Transport: rec}).Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body) // RoundTrip has bounded it
	return response, text, err
}

// RoundTrip sends a request and records it.
func (rec *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.GetBody != nil {
		if body, err := r.GetBody(); err == nil {
			sent, _ = io.ReadAll(body)
		}
	}
	began := time.Now()
	response, err := rec.base.RoundTrip(r)
	var answer []byte
	if err == nil {
		answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		_ = response.Body.Close()
		response.Body = io.NopCloser(bytes.NewReader(answer))
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	done := rec.next
	done.Method, done.Path, done.Took = r.Method, r.URL.Path, time.Since(began)
	done.Curl = curlOf(r, sent)
	done.Answer = shownAnswer(answer)
	if err != nil {
		done.Answer = err.Error()
	} else {
		done.Status = response.StatusCode
	}
	// A page that waits for a decision asks repeatedly; the last answer counts.
	same := func(c Call) bool { return c.Curl == done.Curl && r.Method == http.MethodGet }
	rec.calls = slices.DeleteFunc(rec.calls, same)
	if len(rec.calls) < maxCalls {
		rec.calls = append(rec.calls, done)
	}
	if err != nil {
		return nil, err
	}
	return response, nil
}

// curlOf returns the command that sends a request. Its credentials are those of the demo
// tenants and of the gateway lab, which are public.
func curlOf(r *http.Request, body []byte) string {
	var b strings.Builder
	b.WriteString("curl")
	if r.Method != http.MethodGet && (r.Method != http.MethodPost || len(body) == 0) {
		b.WriteString(" -X " + r.Method)
	}
	b.WriteString(" " + quoted(r.URL.String()))
	if user, password, ok := r.BasicAuth(); ok {
		b.WriteString(" \\\n  -u " + quoted(user+":"+password))
	}
	for _, name := range []string{"Content-Type", "Cookie", "Sec-GPC", "DNT"} {
		value := r.Header.Get(name)
		if value == "" || name == "Content-Type" && value == formType {
			continue
		}
		b.WriteString(" \\\n  -H " + quoted(name+": "+value))
	}
	if len(body) > 0 {
		b.WriteString(" \\\n  -d " + quoted(strings.TrimSpace(string(body))))
	}
	return b.String()
}

// formType is the content type that curl sends by itself.
const formType = "application/x-www-form-urlencoded"

// quoted returns a text as one word of a POSIX shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// shownAnswer returns an answer as the panel shows it: JSON is indented.
func shownAnswer(answer []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, answer, "", "  ") != nil {
		b.Reset()
		b.Write(bytes.TrimSpace(answer))
	}
	if b.Len() <= maxShownAnswer {
		return strings.ToValidUTF8(b.String(), "")
	}
	return strings.ToValidUTF8(b.String()[:maxShownAnswer], "") + "\n…"
}
