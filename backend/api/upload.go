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

// upload is POST /export/upload: of a form with a part named file, or of the
// file itself.
func (a *API) upload(c *call) ([]byte, error) {
	body := &patientReader{Body: c.Body, connection: http.NewResponseController(c.w)}
	name, file, err := uploaded(c.Request, body)
	if err != nil {
		return nil, err
	}
	ref, err := a.Engine.Files.Upload(c.Context(), c.tenant, name, file)
	if err != nil {
		return nil, cutOff(body, err)
	}
	return wire.Upload(ref), nil
}

// uploaded is the file of a request, and what its sender calls it.
func uploaded(r *http.Request, body *patientReader) (name string, file io.Reader, err error) {
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
			return "", nil, cutOff(body, core.Invalid("", "the body is not the multipart form that its Content-Type says"))
		case part.FormName() == "file":
			return part.FileName(), part, nil
		}
	}
}

// cutOff tells a body that ended too soon from a fault of ours.
func cutOff(body *patientReader, err error) error {
	if body.failed == nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return &core.Error{Code: core.CodeInvalid, Message: "the body ended before it was whole; nothing was kept", Err: err}
}

// patientReader reads a body for as long as some of it comes.
type patientReader struct {
	Body       io.ReadCloser
	connection *http.ResponseController
	failed     error
}

func (p *patientReader) Read(b []byte) (int, error) {
	// Not every server has deadlines; one that has none waits for ever.
	_ = p.connection.SetReadDeadline(time.Now().Add(patience))
	n, err := p.Body.Read(b)
	if err != nil && err != io.EOF {
		p.failed = err
	}
	if n > 0 {
		// The answer is written when the body has been read.
		_ = p.connection.SetWriteDeadline(time.Now().Add(2 * patience))
	}
	return n, err
}

func (p *patientReader) Close() error { return p.Body.Close() }
