package stripelab

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// journal is the file to which commands are appended. A nil journal records nothing.
type journal struct {
	file *os.File
	err  error
}

// line is one command in the journal. The first line of a journal has only the start.
type line struct {
	Start *time.Time `json:"start,omitempty"`
	At    time.Time  `json:"at"`
	Call  string     `json:"call,omitempty"`
	Path  string     `json:"path,omitempty"`
	ID    string     `json:"id,omitempty"`
	Sub   string     `json:"sub,omitempty"`
	Base  string     `json:"base,omitempty"`
	// Key is the idempotency key.
	Key string `json:"key,omitempty"`
	// Body has the parameters, form-encoded.
	Body string `json:"body,omitempty"`
}

// open makes the book: a new one, or the one recorded in the journal.
func (l *Lab) open() error {
	start := l.options.Now().UTC().Truncate(time.Microsecond)
	if l.options.Journal == "" {
		l.book = newBook(start)
		l.book.now = start.Truncate(time.Second)
		return nil
	}
	lines, size, err := readJournal(l.options.Journal)
	if err != nil {
		return fmt.Errorf("stripelab: journal: %w", err)
	}
	if len(lines) > 0 && lines[0].Start != nil {
		start = *lines[0].Start
	}
	l.book = newBook(start)
	l.book.now = start.Truncate(time.Second)
	for _, one := range lines {
		if err := l.replay(one); err != nil {
			return fmt.Errorf("stripelab: journal: %w", err)
		}
	}
	// Events from before this start were sent then, or are lost.
	l.post.tries = nil
	if l.journal, err = appendTo(l.options.Journal, size); err != nil {
		return fmt.Errorf("stripelab: journal: %w", err)
	}
	if len(lines) == 0 {
		l.journal.append(line{Start: &start, At: start})
	}
	return l.journal.err
}

// readJournal returns the lines of a journal and their size in bytes. It leaves out an
// incomplete last line, as after a power cut.
func readJournal(path string) (lines []line, size int64, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	for r := bufio.NewReader(file); ; {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return lines, size, nil
		}
		var one line
		if err == nil {
			err = json.Unmarshal(text, &one)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", len(lines)+1, err)
		}
		lines, size = append(lines, one), size+int64(len(text))
	}
}

func appendTo(path string, size int64) (*journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err = file.Truncate(size); err == nil {
		_, err = file.Seek(size, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &journal{file: file}, nil
}

// replay runs a command again, at its recorded time.
func (l *Lab) replay(one line) error {
	if one.Start != nil {
		return nil
	}
	params, err := parseForm(one.Body)
	if err != nil {
		return err
	}
	_, called := endpoints[one.Call]
	_, controlled := controls[one.Call]
	if !called && !controlled {
		return fmt.Errorf("unknown call %s; use the version that wrote the journal", one.Call)
	}
	l.book.runTo(one.At, "")
	l.book.once(l, &call{name: one.Call, path: one.Path, id: one.ID, sub: one.Sub, base: one.Base, idempotency: one.Key, encoded: one.Body, form: params})
	l.book.notes = nil
	return nil
}

// write appends a command that has run, and its time.
func (j *journal) write(at time.Time, c *call) {
	if j == nil {
		return
	}
	_, called := endpoints[c.name]
	_, controlled := controls[c.name]
	if called || controlled {
		j.append(line{At: at, Call: c.name, Path: c.path, ID: c.id, Sub: c.sub, Base: c.base, Key: c.idempotency, Body: c.encoded})
	}
}

// append writes a line. After an error nothing more is written, and Close returns the
// error: a lab with an incomplete journal would have another state after a restart.
func (j *journal) append(one line) {
	if j == nil || j.err != nil {
		return
	}
	text, err := json.Marshal(one)
	if err == nil {
		_, err = j.file.Write(append(text, '\n'))
	}
	j.err = err
}

func (j *journal) close() error {
	if j == nil {
		return nil
	}
	return errors.Join(j.err, j.file.Close())
}
