package frame

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"kith/backend/app/base"
	"kith/core"
	"kith/core/link"
)

// With returns the path and query of the page with other parameters: pairs of a name and
// a value. Parameters with an empty value are left out. Lists have their filter and page in
// the query, so that each view of a list has a URL.
func (v *Visit) With(pairs ...string) string {
	query := v.R.URL.Query()
	query.Del("done")
	for i := 0; i+1 < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
	}
	for key, values := range query {
		if strings.Join(values, "") == "" {
			query.Del(key)
		}
	}
	if len(query) == 0 {
		return v.R.URL.Path
	}
	return v.R.URL.Path + "?" + query.Encode()
}

// Links are the links below a list, as the template "pages" shows them: the paths of the
// next and of the first page, or empty.
type Links struct{ Older, Newest string }

// LinksOf returns the links of a page of a list. A parameter says where a page begins: next is
// its value for the next page, or zero if there is none. first is true on the first page.
func LinksOf[P comparable](v *Visit, parameter string, next P, first bool) (l Links) {
	if next != *new(P) {
		l.Older = v.With(parameter, fmt.Sprint(next))
	}
	if !first {
		l.Newest = v.With(parameter, "")
	}
	return l
}

// Zone returns a time zone by its name, such as Europe/Berlin, which the page's script
// sends with a filter; UTC if it is unknown.
func Zone(name string) *time.Location {
	if zone, err := base.ParseZone("zone", name); err == nil {
		return zone
	}
	return time.UTC
}

// Days returns the span from the beginning of one day to the end of another, each
// YYYY-MM-DD or empty, in a zone. The errors are about the fields from and to.
func Days(from, to string, zone *time.Location) (span core.Span, err error) {
	if from != "" {
		first, err := day("from", from, zone)
		if err != nil {
			return span, err
		}
		span.From = core.Time(first.UnixMilli())
	}
	if to != "" {
		last, err := day("to", to, zone)
		if err != nil {
			return span, err
		}
		span.Before = core.Time(last.AddDate(0, 0, 1).UnixMilli())
	}
	return span, nil
}

// day returns the beginning of a day in a zone, or an error about field.
func day(field, text string, zone *time.Location) (time.Time, error) {
	at, err := time.ParseInLocation(time.DateOnly, text, zone)
	var wrong *time.ParseError
	switch {
	case errors.As(err, &wrong) && wrong.Message != "":
		return at, core.Invalid(field, "is a day that does not exist; give one like 2026-01-31")
	case err != nil:
		return at, core.Invalid(field, "is not a day; give one like 2026-01-31")
	case at.Year() < 1971 || at.Year() > 9998:
		return at, core.Invalid(field, "must be a day from 1971 to 9998, like 2026-01-31")
	}
	return at, nil
}

// Download answers with a file that write writes. If write fails before the first part
// was sent, it is answered with the page of the error. A later error breaks the transfer
// off, so that the browser does not take the file for complete. Text is compressed: the edge
// has each answer in memory, and sends 32 MiB at most.
func (v *Visit) Download(name, kind string, write func(*bufio.Writer) error) error {
	sent := &sending{v: v, name: name, kind: kind}
	to := io.WriteCloser(sent)
	if text := strings.HasPrefix(kind, "text/") || strings.HasPrefix(kind, "application/json"); text {
		v.W.Header().Set("Vary", "Accept-Encoding")
		if sent.packed = link.AcceptsGzip(strings.Join(v.R.Header.Values("Accept-Encoding"), ",")); sent.packed {
			to = gzip.NewWriter(sent)
		}
	}
	out := bufio.NewWriterSize(to, 64<<10)
	err := write(out)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = to.Close()
	}
	switch {
	case err == nil:
		sent.begin() // also an empty file
	case sent.begun:
		v.Log.Error("portal: download broke off", "file", name, "error", err)
		panic(http.ErrAbortHandler)
	}
	return err
}

// FileName returns the name of a download about the tenant, with the day.
func (v *Visit) FileName(what, ending string) string {
	return what + "-" + string(v.Caller.Tenant) + "-" + time.UnixMilli(int64(v.Engine.Now())).UTC().Format(time.DateOnly) + "." + ending
}

// Plain answers with a text, for the script of a page.
func Plain(v *Visit, status int, text string) error {
	v.secure()
	v.W.Header().Set("Content-Type", "text/plain; charset=utf-8")
	v.W.WriteHeader(status)
	// If this fails the visitor has disconnected.
	_, _ = v.W.Write([]byte(text))
	return nil
}

// sending writes a download. Its headers are sent with the first part.
type sending struct {
	v          *Visit
	name, kind string
	// packed is true if what is written is compressed with gzip.
	packed, begun bool
}

func (s *sending) begin() {
	if s.begun {
		return
	}
	s.begun = true
	s.v.secure()
	h := s.v.W.Header()
	h.Set("Content-Type", s.kind)
	// The name has letters, digits, - _ and . only.
	h.Set("Content-Disposition", `attachment; filename="`+s.name+`"`)
	if s.packed {
		h.Set("Content-Encoding", "gzip")
	}
	s.v.W.WriteHeader(http.StatusOK)
}

// Close implements io.Closer; it does nothing.
func (s *sending) Close() error { return nil }

// Write sends a part. It fails if the visitor accepts nothing for stallTimeout.
func (s *sending) Write(b []byte) (int, error) {
	s.begin()
	// The error is ignored: a writer without deadlines has no timeout.
	_ = http.NewResponseController(s.v.W).SetWriteDeadline(time.Now().Add(stallTimeout))
	return s.v.W.Write(b)
}
