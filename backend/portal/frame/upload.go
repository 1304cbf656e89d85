package frame

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"time"

	"kith/core"
)

// stallTimeout is how long an upload or a download may make no progress. Other requests
// have a timeout for the whole request; the time that a file takes depends on its size.
const stallTimeout = 30 * time.Second

// maxField is the most bytes of a field of a form with a file.
const maxField = 1 << 10

// beginUpload prepares a body that its handler reads. The first part of a form has the token
// of the page, so that it is checked before anything else is read.
func (v *Visit) beginUpload() error {
	v.R.Body = &stallReader{ReadCloser: v.R.Body, connection: http.NewResponseController(v.W)}
	kind, _, _ := mime.ParseMediaType(v.R.Header.Get("Content-Type"))
	if kind != "multipart/form-data" {
		return nil
	}
	parts, err := v.R.MultipartReader()
	if err != nil {
		return formError(err)
	}
	v.parts, v.R.PostForm = parts, url.Values{}
	if v.R.Header.Get(csrfHeader) != "" {
		return nil
	}
	first, err := v.NextPart()
	if err == nil && first.FormName() == CSRFField {
		var token string
		token, err = PartText(first)
		v.R.PostForm.Set(CSRFField, token)
	}
	return err
}

// NextPart returns the next part of a form with a file. After the last one, and if the
// upload is not a form, the error is about the field "file".
func (v *Visit) NextPart() (*multipart.Part, error) {
	if v.parts == nil {
		return nil, core.Invalid("file", "is missing; choose a file")
	}
	part, err := v.parts.NextPart()
	if errors.Is(err, io.EOF) {
		return nil, core.Invalid("file", "is missing; choose a file")
	}
	if err != nil {
		return nil, formError(err)
	}
	return part, nil
}

// PartText returns a part of a form that is a field, not a file.
func PartText(part *multipart.Part) (string, error) {
	text, err := io.ReadAll(io.LimitReader(part, maxField+1))
	if err != nil {
		return "", formError(err)
	}
	if len(text) > maxField {
		return "", core.Invalid(part.FormName(), "is too long; open the page again and repeat the step")
	}
	return string(text), nil
}

// stallReader reads a body. It fails if no bytes arrive for stallTimeout.
type stallReader struct {
	io.ReadCloser
	connection *http.ResponseController
}

func (r *stallReader) Read(b []byte) (int, error) {
	// The errors are ignored: a connection without deadlines has no timeout.
	_ = r.connection.SetReadDeadline(time.Now().Add(stallTimeout))
	n, err := r.ReadCloser.Read(b)
	if n > 0 {
		// The answer is written after the body was read.
		_ = r.connection.SetWriteDeadline(time.Now().Add(2 * stallTimeout))
	}
	return n, err
}
