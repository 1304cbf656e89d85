package sftp

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/pkg/sftp"

	"kith/backend/app/jobs"
	"kith/backend/app/sshkey"
)

// sendUnit is the number of bytes that clients send at a time. When a user interrupts
// an upload (Ctrl-C in OpenSSH's put), or the client cannot read its own file, the
// client closes the incomplete file like a whole one; its length is then a multiple of
// sendUnit.
const sendUnit = 32 << 10

// errNotClosed reports that the client did not close a file.
var errNotClosed = errors.New("the connection ended before the file was closed")

// upload is a file that is being uploaded. Its bytes go to the engine in order. The
// engine stores them, and makes the job at their end.
type upload struct {
	session *session
	name    string
	to      *io.PipeWriter
	// done is closed when the engine has finished; then received and err are its
	// results.
	done     chan struct{}
	received jobs.ReceivedFile
	err      error

	mu sync.Mutex
	// next is the number of bytes that went to the engine. early has the chunks that
	// arrived before the bytes in front of them, by their offset.
	next  int64
	early map[int64][]byte
	// failed is the reason why the file cannot be completed.
	failed error
	// reported is true once the client got the error.
	reported bool
}

// begin opens a file whose name is valid.
func (s *session) begin(name string) *upload {
	from, to := io.Pipe()
	u := &upload{session: s, name: name, to: to, done: make(chan struct{}), early: map[int64][]byte{}}
	s.conn.uploads.Add(1)
	go func() {
		defer close(u.done)
		u.received, u.err = s.server.engine.Jobs.Receive(s.ctx, s.tenant, name, from)
		_ = from.CloseWithError(u.err)
	}()
	return u
}

// WriteAt implements io.WriterAt. Chunks may arrive in any order, but each only once.
func (u *upload) WriteAt(p []byte, at int64) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.failed == nil {
		u.failed = u.put(p, at)
	}
	if u.failed != nil {
		text, _ := messageOf(u.failed)
		return 0, u.deny(text)
	}
	return len(p), nil
}

// deny returns the answer that the upload failed. The first one is also written to the
// standard error of the session.
func (u *upload) deny(text string) error {
	text = quoted(u.name) + ": " + text
	if u.reported {
		return refusal{sftp.ErrSSHFxFailure, text}
	}
	u.reported = true
	return u.session.deny(sftp.ErrSSHFxFailure, text)
}

func (u *upload) put(p []byte, at int64) error {
	switch {
	case len(p) == 0:
		return nil
	case at > u.next:
		return u.keepEarly(p, at)
	case at < u.next:
		return refusal{text: "the bytes from " + strconv.FormatInt(at, 10) + " on were sent twice"}
	}
	for p != nil {
		n, err := u.to.Write(p)
		u.next += int64(n)
		if err != nil {
			return err
		}
		p = u.early[u.next]
		delete(u.early, u.next)
		u.session.reserve(-len(p))
	}
	return nil
}

// keepEarly keeps a chunk until the bytes in front of it have arrived.
func (u *upload) keepEarly(p []byte, at int64) error {
	if u.early[at] != nil {
		return refusal{text: "the bytes from " + strconv.FormatInt(at, 10) + " on were sent twice"}
	}
	if len(u.early) >= maxEarlyChunks || !u.session.reserve(len(p)) {
		return refusal{text: "the bytes from " + strconv.FormatInt(u.next, 10) + " on are missing, and too many after them have arrived: send the file from its beginning"}
	}
	u.early[at] = append([]byte(nil), p...)
	return nil
}

// TransferError implements sftp.TransferError: it is called before Close when the
// connection ends and the client has not closed the file.
func (u *upload) TransferError(error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.failed = errNotClosed
}

// Close implements io.Closer: the file is complete, unless bytes are missing. The
// client waits until the job exists.
func (u *upload) Close() error {
	u.end()
	<-u.done
	defer u.session.release()
	// The answer must still be sent; until then the connection must not count as idle.
	defer u.session.conn.ended()
	return u.outcome()
}

// end signals the engine the end of the file.
func (u *upload) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.failed != nil:
	case len(u.early) > 0:
		u.failed = refusal{text: "bytes are missing from " + strconv.FormatInt(u.next, 10) + " on; send the file again"}
	case u.next > 0 && u.next%sendUnit == 0:
		u.failed = refusal{text: "it ends at byte " + strconv.FormatInt(u.next, 10) + ", a multiple of " + strconv.Itoa(sendUnit) +
			": an interrupted upload ends so too, and nothing was imported. If the file is complete, add an empty line to it, or compress it again, and send it"}
	}
	for at, p := range u.early {
		delete(u.early, at)
		u.session.reserve(-len(p))
	}
	_ = u.to.CloseWithError(u.failed) // nil: the end
}

// outcome logs the result of the upload, and returns it for the client.
func (u *upload) outcome() error {
	log := u.session.log.With("file", sshkey.Printable(u.name), "bytes", u.next)
	job := u.received.Job
	switch {
	case u.err == nil && len(u.received.Fatal) == 0:
		log.Info("sftp: job created from file", "job", job.ID, "type", job.Type, "status", job.Status,
			"rows", job.Stats.Processed, "failed", job.Stats.Errors)
		if len(u.received.Rows) > 0 {
			log.Warn("sftp: rows failed", "job", job.ID, "rows", some(u.received.Rows))
		}
		return nil
	case u.err == nil:
		log.Warn("sftp: file invalid", "job", job.ID, "type", job.Type, "problems", some(u.received.Fatal))
		return u.deny("nothing was imported; job " + job.ID + ": " + some(u.received.Fatal))
	case errors.Is(u.err, errNotClosed):
		log.Warn("sftp: file not stored", "error", u.err)
		return u.err
	}
	text, internal := messageOf(u.err)
	if internal {
		log.Error("sftp: store file", "error", u.err)
	} else {
		log.Warn("sftp: file not stored", "error", u.err)
	}
	return u.deny(text)
}

// some joins the first problems of a list.
func some(problems []string) string {
	const limit = 10
	text := strings.Join(problems[:min(len(problems), limit)], "; ")
	if len(problems) > limit {
		text += "; and " + strconv.Itoa(len(problems)-limit) + " more"
	}
	return text
}
