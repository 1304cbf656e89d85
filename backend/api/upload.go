package api

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"kith/core"
	"kith/core/wire"
)

// upload handles POST /export/upload. The body is a multipart form with a part named
// file, or the file itself.
func (a *API) upload(c *call) ([]byte, error) {
	body := &stallReader{Body: c.Body, size: c.ContentLength, connection: http.NewResponseController(c.w)}
	name, file, err := uploaded(c.Request, body)
	if err != nil {
		return nil, err
	}
	ref, err := a.Engine.Files.Upload(c.Context(), c.tenant, name, file)
	if err != nil {
		return nil, readError(body, err)
	}
	return wire.Upload(ref), nil
}

// uploaded returns the file in a request and its name; "" if the body is the file itself.
func uploaded(r *http.Request, body *stallReader) (name string, file io.Reader, err error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "multipart/form-data" {
		return "", body, nil
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
