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

	"kith/core"
	"kith/core/importfile"
)

// Bounds of what one connection has open.
const (
	// maxOpen counts files and listings.
	maxOpen = 8
	// maxHeld are the bytes, and maxPieces the pieces of one file, that came
	// before what stands in front of them. The library hands pieces on in no
	// order, and clients have up to 2 MiB on their way.
	maxHeld   = 8 << 20
	maxPieces = 1024
	// maxAside is what a session may be told beside its answers, in bytes.
	maxAside = 16 << 10
)

// refusal is an error as the client gets it. Clients show the code, some the
// text too; OpenSSH does not, so that it is also told beside the answer, where ssh
// shows it.
type refusal struct {
	code error
	text string
}

func (r refusal) Error() string { return r.text }
func (r refusal) Unwrap() error { return r.code }

var (
	errDenied  = refusal{sftp.ErrSSHFxPermissionDenied, "permission denied: files can be sent here, and nothing else"}
	errNothing = refusal{sftp.ErrSSHFxNoSuchFile, "there is no such file: what was sent is a job"}
)

// box is the drop box as one session sees it: one folder, always empty.
type box struct {
	*sender
	ctx context.Context
	// aside is where a client is told why, beside the answer.
	aside io.Writer

	mu   sync.Mutex
	told int
}

// deny tells the client, beside the answer that it returns.
func (b *box) deny(code error, text string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if line := "kith: " + text + "\n"; b.told+len(line) <= maxAside {
		b.told += len(line)
		_, _ = io.WriteString(b.aside, line)
	}
	return refusal{code, text}
}

// Fileread implements sftp.FileReader.
func (b *box) Fileread(*sftp.Request) (io.ReaderAt, error) { return nil, errDenied }

// Filecmd implements sftp.FileCmder.
func (b *box) Filecmd(*sftp.Request) error { return errDenied }

// Filelist implements sftp.FileLister. That the folder is there, and that it is
// empty, is what clients ask before they send.
func (b *box) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	switch {
	case r.Method == "Readlink":
		return nil, errDenied
	case r.Filepath != "/":
		return nil, errNothing
	case r.Method != "List":
		return root{}, nil
	case !b.take():
		return nil, b.deny(sftp.ErrSSHFxFailure, "too much is open on this connection")
	}
	return &listing{giveBack: b.giveBack}, nil
}

// Filewrite implements sftp.FileWriter: it opens a file to be sent.
func (b *box) Filewrite(r *sftp.Request) (io.WriterAt, error) {
	folder, name := path.Split(r.Filepath)
	flags := r.Pflags()
	switch {
	case folder != "/":
		return nil, b.deny(sftp.ErrSSHFxNoSuchFile, "there are no folders here: send "+shown(name)+" to /")
	case !flags.Write || !flags.Creat || flags.Append:
		return nil, errDenied
	case b.server.isStopping():
		return nil, b.deny(sftp.ErrSSHFxFailure, "the service is stopping: send "+shown(name)+" again")
	}
	if _, err := importfile.TypeOf(name); err != nil {
		b.log.Warn("sftp: refused", "file", printable(name), "error", err)
		return nil, b.deny(sftp.ErrSSHFxPermissionDenied, shown(name)+": "+err.Error())
	}
	known, err := b.server.engine.SFTPKeys.Known(b.ctx, b.tenant, b.fingerprint)
	switch {
	case err != nil:
		b.log.Error("sftp: a key cannot be looked up", "error", err)
		return nil, b.deny(sftp.ErrSSHFxFailure, sorry)
	case !known:
		return nil, b.deny(sftp.ErrSSHFxPermissionDenied, "the key has been removed since")
	case !b.take():
		return nil, b.deny(sftp.ErrSSHFxFailure, "too much is open on this connection: send one file after the other")
	}
	return b.begin(name), nil
}

// shown is a name as it may be shown.
func shown(name string) string { return strconv.QuoteToASCII(printable(name)) }

// sorry is what a client is told of what is wrong with us.
const sorry = "something went wrong here; nothing was kept, send the file again"

// inWords is what a client is told of an error.
func inWords(err error) (text string, ours bool) {
	var known *core.Error
	var told refusal
	switch {
	case errors.As(err, &told):
		return told.text, false
	case !errors.As(err, &known) || known.Code == core.CodeInternal:
		return sorry, true
	}
	return known.Error(), known.Code == core.CodeUnavailable
}

// listing is the folder, open to be listed.
type listing struct{ giveBack func() }

// ListAt implements sftp.ListerAt.
func (l *listing) ListAt([]os.FileInfo, int64) (int, error) { return 0, io.EOF }

// Close implements io.Closer.
func (l *listing) Close() error {
	l.giveBack()
	return nil
}

// root is what is to be known of the folder itself.
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
