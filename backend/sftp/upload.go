package sftp

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/pkg/sftp"

	"kith/backend/app/jobs"
)

// cutUnit is what clients send at a time. One whose user breaks it off (Ctrl-C at
// `put` of OpenSSH), or that fails over its own file, closes what it has sent as
// it closes a whole file; what it has sent is then a multiple of this.
const cutUnit = 32 << 10

// errCut is what becomes of a file that its sender did not close.
var errCut = errors.New("the connection ended before the file was closed")

// upload is a file that is being sent. Its bytes go to the engine in order, which
// keeps them and makes the job when they end.
type upload struct {
	box  *box
	name string
	to   *io.PipeWriter
	// done is closed when the engine has done all it does; then delivery and err
	// say what that was.
	done     chan struct{}
	delivery jobs.Delivery
	err      error

	mu sync.Mutex
	// next is how many bytes went to the engine, early what came before those in
	// front of it, by their place.
	next  int64
	early map[int64][]byte
	// failed is why the file cannot become whole any more.
	failed error
	// told is true when the client was told so.
	told bool
}

// begin opens a file whose name is good.
func (b *box) begin(name string) *upload {
	from, to := io.Pipe()
	u := &upload{box: b, name: name, to: to, done: make(chan struct{}), early: map[int64][]byte{}}
	b.line.uploads.Add(1)
	go func() {
		defer close(u.done)
		u.delivery, u.err = b.server.engine.Jobs.Deliver(b.ctx, b.tenant, name, from)
		_ = from.CloseWithError(u.err)
	}()
	return u
}

// WriteAt implements io.WriterAt. Pieces may come in any order, but each of them
// once.
func (u *upload) WriteAt(p []byte, at int64) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.failed == nil {
		u.failed = u.put(p, at)
	}
	if u.failed != nil {
		text, _ := inWords(u.failed)
		return 0, u.deny(text)
	}
	return len(p), nil
}

// deny is an answer that the file failed; the first is told beside it too.
func (u *upload) deny(text string) error {
	text = shown(u.name) + ": " + text
	if u.told {
		return refusal{sftp.ErrSSHFxFailure, text}
	}
	u.told = true
	return u.box.deny(sftp.ErrSSHFxFailure, text)
}

func (u *upload) put(p []byte, at int64) error {
	switch {
	case len(p) == 0:
		return nil
	case at > u.next:
		return u.keep(p, at)
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
		u.box.hold(-len(p))
	}
	return nil
}

// keep keeps a piece until those in front of it have come.
func (u *upload) keep(p []byte, at int64) error {
	if u.early[at] != nil {
		return refusal{text: "the bytes from " + strconv.FormatInt(at, 10) + " on were sent twice"}
	}
	if len(u.early) >= maxPieces || !u.box.hold(len(p)) {
		return refusal{text: "the bytes from " + strconv.FormatInt(u.next, 10) + " on are missing, and too many came that stand behind them: send the file from its beginning"}
	}
	u.early[at] = append([]byte(nil), p...)
	return nil
}

// TransferError implements sftp.TransferError: it is called before Close when the
// connection ends and the client has not closed the file.
func (u *upload) TransferError(error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.failed = errCut
}

// Close implements io.Closer: the file is whole, unless it is known that it is
// not. The client waits until its job is made.
func (u *upload) Close() error {
	u.end()
	<-u.done
	defer u.box.giveBack()
	// The answer is still to be sent, on a connection that must not count as quiet.
	defer u.box.line.ended()
	return u.outcome()
}

// end tells the engine that no more comes.
func (u *upload) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.failed != nil:
	case len(u.early) > 0:
		u.failed = refusal{text: "its pieces do not fit together at byte " + strconv.FormatInt(u.next, 10)}
	case u.next > 0 && u.next%cutUnit == 0:
		u.failed = refusal{text: "it ends at byte " + strconv.FormatInt(u.next, 10) + ", a multiple of " + strconv.Itoa(cutUnit) +
			": so does a file whose sending was broken off, and nothing was imported. If it is whole, add an empty line to it, or pack it anew"}
	}
	for at, p := range u.early {
		delete(u.early, at)
		u.box.hold(-len(p))
	}
	_ = u.to.CloseWithError(u.failed) // nil: the end
}

// outcome says what became of the file: to the log, and to the client.
func (u *upload) outcome() error {
	log := u.box.log.With("file", printable(u.name), "bytes", u.next)
	job := u.delivery.Job
	switch {
	case u.err == nil && len(u.delivery.Fatal) == 0:
		log.Info("sftp: a file became a job", "job", job.ID, "type", job.Type, "status", job.Status,
			"rows", job.Stats.Processed, "failed", job.Stats.Errors)
		if len(u.delivery.Rows) > 0 {
			log.Warn("sftp: some rows of a file are wrong", "job", job.ID, "rows", some(u.delivery.Rows))
		}
		return nil
	case u.err == nil:
		log.Warn("sftp: a file is broken", "job", job.ID, "type", job.Type, "problems", some(u.delivery.Fatal))
		return u.deny("nothing was imported; job " + job.ID + ": " + some(u.delivery.Fatal))
	case errors.Is(u.err, errCut):
		log.Warn("sftp: nothing was kept of a file", "error", u.err)
		return u.err
	}
	text, ours := inWords(u.err)
	if ours {
		log.Error("sftp: a file failed", "error", u.err)
	} else {
		log.Warn("sftp: nothing was kept of a file", "error", u.err)
	}
	return u.deny(text)
}

// some are the first of many problems.
func some(problems []string) string {
	const most = 10
	text := strings.Join(problems[:min(len(problems), most)], "; ")
	if len(problems) > most {
		text += "; and " + strconv.Itoa(len(problems)-most) + " more"
	}
	return text
}
