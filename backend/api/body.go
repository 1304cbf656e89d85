package api

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"kith/core"
	"kith/core/wire"
	"kith/wasm/bodies"
)

// readJSON reads a body that must be declared as JSON, of at most wire.MaxBody bytes.
func readJSON(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if err := wire.CheckJSONType(r.Header.Get("Content-Type")); err != nil {
		return nil, err
	}
	body, err := readBody(w, r, wire.MaxBody)
	return withoutMark(body), err
}

// withoutMark returns a body without the byte-order mark that some programs on Windows
// write before JSON (RFC 8259, 8.1, allows to ignore it).
func withoutMark(body []byte) []byte { return bytes.TrimPrefix(body, []byte("\uFEFF")) }

type bodiesKey struct{}

// withBodies gives the requests of next access to the memory for bodies; see readBody.
func (a *API) withBodies(next http.Handler) http.Handler {
	budget := a.Bodies
	if budget == nil {
		budget = bodies.NewBudget(bodies.Limits{})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff") // of each answer
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), bodiesKey{}, budget)))
	})
}

// readBody reads a body of at most limit bytes, and unpacks it if it was sent with gzip: the
// limit is that of the unpacked body, at which reading stops. Its memory is released when
// the request was answered or its client disconnected.
func readBody(w http.ResponseWriter, r *http.Request, limit int) ([]byte, error) {
	r, err := unpacked(w, r, int64(limit))
	if err != nil {
		return nil, err
	}
	body, release, err := r.Context().Value(bodiesKey{}).(*bodies.Budget).Read(w, r, int64(limit))
	context.AfterFunc(r.Context(), release)
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		return body, nil
	case errors.As(err, &tooLarge):
		return nil, wire.TooLarge(limit)
	case errors.Is(err, bodies.ErrSlow):
		return nil, &core.Error{Code: core.CodeTimeout, Message: "the body arrived too slowly; send at least 1 kB a second, and all of it within 60 seconds"}
	case errors.Is(err, bodies.ErrFull):
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "too many large calls at once; try again"}
	case errors.Is(err, errNotGzip):
		return nil, core.Malformed("", "the body is not the gzip that its Content-Encoding says; compress it, or leave the header out")
	}
	return nil, &core.Error{Code: core.CodeInvalid, Message: "the body ended before its Content-Length", Err: err}
}

// maxGzipOverhead is how much longer than its contents a packed body may be.
const maxGzipOverhead = 1 << 10

// isPacked reports whether a body was sent with gzip. Any other Content-Encoding is an error.
func isPacked(w http.ResponseWriter, r *http.Request) (bool, error) {
	encoding := strings.ToLower(strings.Join(r.Header.Values("Content-Encoding"), ","))
	switch strings.TrimSpace(encoding) {
	case "", "identity":
		return false, nil
	case "gzip", "x-gzip":
		return true, nil
	}
	w.Header().Set("Accept-Encoding", "gzip") // RFC 9110, 15.5.16
	return false, &core.Error{Code: core.CodeMediaType, Message: "the Content-Encoding must be gzip, or left out for a body that is not compressed"}
}

// unpacked returns a request whose body is read without its Content-Encoding. The packed body
// may be slightly longer than limit.
func unpacked(w http.ResponseWriter, r *http.Request, limit int64) (*http.Request, error) {
	packed, err := isPacked(w, r)
	if err != nil || !packed || r.ContentLength == 0 || r.Body == http.NoBody {
		return r, err
	}
	plain := *r
	plain.Body = &gzipBody{packed: http.MaxBytesReader(w, r.Body, limit+maxGzipOverhead)}
	plain.ContentLength = -1
	return &plain, nil
}

// errNotGzip reports that a packed body is not gzip.
var errNotGzip = errors.New("api: the body is not gzip")

// gzipBody unpacks a body while it is read.
type gzipBody struct {
	packed io.ReadCloser
	in     *gzip.Reader
}

func (b *gzipBody) Read(p []byte) (n int, err error) {
	if b.in == nil {
		// It reads the header, for which the reader of the body has set a deadline.
		if b.in, err = gzip.NewReader(b.packed); err != nil {
			b.in = nil
			return 0, gzipError(err)
		}
	}
	n, err = b.in.Read(p)
	return n, gzipError(err)
}

// gzipError returns errNotGzip for an error of the format, and other errors unchanged.
func gzipError(err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &corrupt) {
		return errNotGzip
	}
	return err
}

func (b *gzipBody) Close() error { return b.packed.Close() }

// upload handles POST /export/upload. The body is a multipart form with a part named
// file, or the file itself.
func (a *API) upload(c *call) ([]byte, error) {
	// A file may be gzip itself, and is stored as it is.
	packed, err := isPacked(c.w, c.Request)
	if err != nil {
		return nil, err
	}
	body := &stallReader{Body: c.Body, size: c.ContentLength, connection: http.NewResponseController(c.w)}
	name, file, err := uploaded(c.Request, body, packed)
	if err != nil {
		return nil, err
	}
	ref, err := a.Engine.Files.Upload(c.Context(), c.tenant, name, file)
	if err != nil {
		return nil, readError(body, err)
	}
	form, err := a.Engine.Files.ReadAs(c.Context(), c.tenant, ref)
	return wire.Upload(ref, form), err
}

// uploaded returns the file in a request and its name; "" if the body is the file itself.
func uploaded(r *http.Request, body *stallReader, packed bool) (name string, file io.Reader, err error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "multipart/form-data" {
		return "", body, nil
	}
	if packed {
		return "", nil, &core.Error{Code: core.CodeMediaType, Message: "a form must not have the Content-Encoding gzip; compress the file in the form, or send the file itself as the body"}
	}
	r.Body = body
	parts, err := r.MultipartReader()
	if err != nil {
		return "", nil, core.Invalid("", "the body is not the multipart form that its Content-Type says")
	}
	for {
		part, err := parts.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return "", nil, core.Invalid("file", "is required: the form has no part of this name")
		case err != nil:
			return "", nil, readError(body, core.Invalid("", "the body is not the multipart form that its Content-Type says"))
		case part.FormName() == "file":
			return part.FileName(), part, nil
		}
	}
}

// readError returns the error of a body that ended too early, or err if the body was read
// without an error.
func readError(body *stallReader, err error) error {
	if body.failed == nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return &core.Error{Code: core.CodeInvalid, Message: "the body ended too early and nothing was stored; send it again", Err: err}
}

// stallReader reads a body. It fails if no bytes arrive for stallTimeout.
type stallReader struct {
	Body io.ReadCloser
	// size is the number of bytes that the header names, or -1.
	size       int64
	connection *http.ResponseController
	// failed is the last error of Body other than io.EOF.
	failed error
}

func (p *stallReader) Read(b []byte) (int, error) {
	// The errors are ignored: a connection without deadlines has no timeout.
	_ = p.connection.SetReadDeadline(time.Now().Add(stallTimeout))
	n, err := p.Body.Read(b)
	if err != nil && err != io.EOF {
		p.failed = err
	}
	if n > 0 {
		// The answer is written after the body was read.
		_ = p.connection.SetWriteDeadline(time.Now().Add(2 * stallTimeout))
	}
	return n, err
}

// Size returns the number of bytes of the body, or -1 if it is unknown.
func (p *stallReader) Size() int64 { return p.size }

func (p *stallReader) Close() error { return p.Body.Close() }
