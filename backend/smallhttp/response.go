package smallhttp

import (
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"
)

// maxHeld is the most bytes that are collected for one write. A longer body is written by
// itself, unless its length is not known before its end.
const maxHeld = 16 << 10

// unsized is the length of an answer without a Content-Length.
const unsized = -1

// response is the http.ResponseWriter of one request.
type response struct {
	conn   net.Conn
	isHead bool
	header http.Header
	names  []string // of header, for sorting
	// status is 0 until WriteHeader.
	status int
	// length is that of the body, or unsized: then held has the body only, otherwise all that
	// was not sent. written counts the bytes of the body.
	length, written int64
	held            []byte
	err             error // of the connection
}

var responses = sync.Pool{New: func() any { return &response{header: http.Header{}} }}

func newResponse(c net.Conn, isHead bool) *response {
	w := responses.Get().(*response)
	w.conn, w.isHead = c, isHead
	return w
}

// free lets another request use the memory.
func (w *response) free() {
	if cap(w.held) > maxHeld {
		return
	}
	clear(w.header)
	clear(w.names)
	*w = response{header: w.header, names: w.names[:0], held: w.held[:0]}
	responses.Put(w)
}

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter. Informational statuses are not sent.
func (w *response) WriteHeader(status int) {
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status, w.length = status, unsized
	if given := w.header["Content-Length"]; len(given) > 0 {
		if n, err := strconv.ParseInt(given[0], 10, 64); err == nil && n >= 0 {
			w.length = n
		} else {
			delete(w.header, "Content-Length")
		}
	}
	switch {
	case status == http.StatusNotModified:
		delete(w.header, "Content-Type")
		fallthrough
	case status == http.StatusNoContent:
		delete(w.header, "Content-Length")
	case w.length == unsized:
		return
	}
	w.appendHead("")
}

// bodiless reports whether the status allows no body.
func (w *response) bodiless() bool {
	return w.status == http.StatusNoContent || w.status == http.StatusNotModified
}

// Write implements http.ResponseWriter.
func (w *response) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	n := len(b)
	switch w.written += int64(n); {
	case w.bodiless():
		return 0, http.ErrBodyNotAllowed
	case w.length == unsized:
		w.held = append(w.held, b...)
		return n, nil
	case w.written > w.length:
		return 0, http.ErrContentLength
	case w.isHead:
		return n, nil
	case len(w.held)+n <= maxHeld:
		w.held = append(w.held, b...)
		return n, nil
	}
	w.send(w.held)
	w.held = w.held[:0]
	w.send(b)
	return n, w.err
}

// SetReadDeadline exists for http.ResponseController. It does nothing, since the body has been
// read.
func (*response) SetReadDeadline(time.Time) error { return nil }

func (w *response) send(b []byte) {
	if w.err == nil && len(b) > 0 {
		_, w.err = w.conn.Write(b)
	}
}

// finish sends the rest of the answer. It returns false if the connection must be closed.
func (w *response) finish() bool {
	w.WriteHeader(http.StatusOK)
	if w.length == unsized && !w.bodiless() {
		body, length := w.held, ""
		w.held = nil
		if !w.isHead || len(body) > 0 {
			length = "Content-Length: " + strconv.Itoa(len(body)) + "\r\n"
		}
		w.appendHead(length)
		if !w.isHead {
			w.held = append(w.held, body...)
		}
		w.length = w.written
	}
	w.send(w.held)
	complete := w.isHead || w.bodiless() || w.written == w.length
	return complete && w.err == nil && !slices.ContainsFunc(w.header["Connection"], isClose)
}

func isClose(value string) bool { return strings.EqualFold(value, "close") }

// appendHead appends the status line and the headers, sorted by name, and a line that follows
// them.
func (w *response) appendHead(last string) {
	b := append(w.held, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(w.status), 10)
	reason := http.StatusText(w.status)
	if reason == "" {
		reason = "status code " + strconv.Itoa(w.status)
	}
	b = append(append(append(b, ' '), reason...), "\r\n"...)
	for name := range w.header {
		w.names = append(w.names, name)
	}
	slices.Sort(w.names)
	for _, name := range w.names {
		if !httpguts.ValidHeaderFieldName(name) {
			continue
		}
		for _, value := range w.header[name] {
			if !httpguts.ValidHeaderFieldValue(value) {
				value = oneLine.Replace(value)
			}
			b = append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
		}
	}
	if w.header["Date"] == nil {
		b = append(append(append(b, "Date: "...), date()...), "\r\n"...)
	}
	w.held = append(append(b, last...), "\r\n"...)
}

// oneLine replaces line breaks, as net/http does, so that a value cannot contain a header.
var oneLine = strings.NewReplacer("\n", " ", "\r", " ")

// second is a second and its text in the Date header.
type second struct {
	unix int64
	text string
}

// latest is the second of the latest answer.
var latest atomic.Pointer[second]

// date returns the present time in the form of the Date header.
func date() string {
	now := time.Now()
	s := latest.Load()
	if s == nil || s.unix != now.Unix() {
		s = &second{now.Unix(), now.UTC().Format(http.TimeFormat)}
		latest.Store(s)
	}
	return s.text
}
