package sftp

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"sync"
	"time"

	"github.com/pkg/sftp"

	"kith/backend/app/sshkey"
	"kith/core"
	"kith/core/importfile"
)

// Bounds of one connection.
const (
	// maxOpen is how many files and listings may be open at once.
	maxOpen = 8
	// maxEarly bounds the bytes, and maxEarlyChunks the chunks of one file, that
	// arrived before the bytes in front of them. The library passes chunks on in no
	// order, and clients send up to 2 MiB before they wait for an answer.
	maxEarly       = 8 << 20
	maxEarlyChunks = 1024
	// maxStderr bounds the error texts of a session, in bytes.
	maxStderr = 16 << 10
)

// refusal is an error as the client gets it. All clients show the code; some also
// show the text. OpenSSH does not, so the text is also written to the standard error
// of the session, which ssh prints.
type refusal struct {
	code error
	text string
}

func (r refusal) Error() string { return r.text }
func (r refusal) Unwrap() error { return r.code }

var (
	errDenied  = refusal{sftp.ErrSSHFxPermissionDenied, "permission denied: this server only accepts uploads"}
	errNothing = refusal{sftp.ErrSSHFxNoSuchFile, "no such file: an uploaded file becomes a job and is not listed"}
)

// session handles the requests of one SFTP session. Its client sees one folder, which
// is always empty.
type session struct {
	*client
	ctx context.Context
	// stderr is the standard error of the session; written counts its bytes.
	stderr io.Writer

	mu      sync.Mutex
	written int
}

// deny returns a refusal, and writes its text to the standard error of the session.
func (s *session) deny(code error, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if line := "kith: " + text + "\n"; s.written+len(line) <= maxStderr {
		s.written += len(line)
		_, _ = io.WriteString(s.stderr, line)
	}
	return refusal{code, text}
}

// Fileread implements sftp.FileReader.
func (s *session) Fileread(*sftp.Request) (io.ReaderAt, error) { return nil, errDenied }

// Filecmd implements sftp.FileCmder.
func (s *session) Filecmd(*sftp.Request) error { return errDenied }

// Filelist implements sftp.FileLister. Clients list the folder before they upload; it
// exists and is empty.
func (s *session) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	switch {
	case r.Method == "Readlink":
		return nil, errDenied
	case r.Filepath != "/":
		return nil, errNothing
	case r.Method != "List":
		return root{}, nil
	case !s.acquire():
		return nil, s.deny(sftp.ErrSSHFxFailure, "too many files are open on this connection; close one first")
	}
	return &listing{release: s.release}, nil
}

// Filewrite implements sftp.FileWriter: it begins an upload.
func (s *session) Filewrite(r *sftp.Request) (io.WriterAt, error) {
	folder, name := path.Split(r.Filepath)
	flags := r.Pflags()
	switch {
	case folder != "/":
		return nil, s.deny(sftp.ErrSSHFxNoSuchFile, "no such folder: send "+quoted(name)+" to /")
	case !flags.Write || !flags.Creat || flags.Append:
		return nil, errDenied
	case s.server.isStopping():
		return nil, s.deny(sftp.ErrSSHFxFailure, "the service is stopping: send "+quoted(name)+" again")
	}
	if _, err := importfile.TypeOf(name); err != nil {
		s.log.Warn("sftp: name refused", "file", sshkey.Printable(name), "error", err)
		return nil, s.deny(sftp.ErrSSHFxPermissionDenied, quoted(name)+": "+err.Error())
	}
	known, err := s.server.engine.SFTPKeys.Known(s.ctx, s.tenant, s.fingerprint)
	switch {
	case err != nil:
		s.log.Error("sftp: look up key", "error", err)
		return nil, s.deny(sftp.ErrSSHFxFailure, internalError)
	case !known:
		return nil, s.deny(sftp.ErrSSHFxPermissionDenied, "the key has been removed; connect with another key")
	case !s.acquire():
		return nil, s.deny(sftp.ErrSSHFxFailure, "too many files are open on this connection: send one file after the other")
	}
	return s.begin(name), nil
}

// quoted returns a name in quotes, without control characters.
func quoted(name string) string { return strconv.QuoteToASCII(sshkey.Printable(name)) }

// internalError is the text that a client gets for an internal error.
const internalError = "internal error; nothing was stored, send the file again"

// messageOf returns the text of an error for the client. internal is true when the
// cause is in this service, and not in the file.
func messageOf(err error) (text string, internal bool) {
	var known *core.Error
	var refused refusal
	switch {
	case errors.As(err, &refused):
		return refused.text, false
	case !errors.As(err, &known) || known.Code == core.CodeInternal:
		return internalError, true
	}
	return known.Error(), known.Code == core.CodeUnavailable
}

// listing is the open folder.
type listing struct{ release func() }

// ListAt implements sftp.ListerAt.
func (l *listing) ListAt([]os.FileInfo, int64) (int, error) { return 0, io.EOF }

// Close implements io.Closer.
func (l *listing) Close() error {
	l.release()
	return nil
}

// root describes the folder itself.
type root struct{}

// ListAt implements sftp.ListerAt.
func (root) ListAt(into []os.FileInfo, at int64) (int, error) {
	if at > 0 || len(into) == 0 {
		return 0, io.EOF
	}
	into[0] = root{}
	return 1, nil
}

func (root) Name() string       { return "/" }
func (root) Size() int64        { return 0 }
func (root) Mode() fs.FileMode  { return fs.ModeDir | 0o300 }
func (root) ModTime() time.Time { return time.Unix(0, 0) }
func (root) IsDir() bool        { return true }
func (root) Sys() any           { return nil }
