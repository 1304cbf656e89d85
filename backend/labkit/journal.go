package labkit

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

// Journal is the file to which a lab appends its commands, so that the next start can run them
// again. A nil Journal records nothing.
type Journal struct {
	file *os.File
	err  error
}

// Line is one command in a journal. The first line of a journal has only the start.
type Line struct {
	Start *time.Time `json:"start,omitempty"`
	At    time.Time  `json:"at"`
	// Call is the pattern of the command's route, such as "PUT /subscriptions/{id}".
	Call string `json:"call,omitempty"`
	// Path is the path of the URL, and ID the record that it names.
	Path string `json:"path,omitempty"`
	ID   string `json:"id,omitempty"`
	// Base is the address of the lab, and Key the idempotency key.
	Base string `json:"base,omitempty"`
	Key  string `json:"key,omitempty"`
	// Body is the request in the lab's own form, whatever form the client sent.
	Body string `json:"body,omitempty"`
}

// OpenJournal begins a lab: a new one at the given time, or the one that the file at path
// records. It calls begin with the time of the first start, replay for each command, and
// returns the journal for the next ones. If path is empty there is none.
func OpenJournal(path string, start time.Time, begin func(time.Time), replay func(Line) error) (*Journal, error) {
	if path == "" {
		begin(start)
		return nil, nil
	}
	j, err := open(path, start, begin, replay)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return j, nil
}

func open(path string, start time.Time, begin func(time.Time), replay func(Line) error) (*Journal, error) {
	lines, size, err := read(path)
	if err != nil {
		return nil, err
	}
	if len(lines) > 0 && lines[0].Start != nil {
		start = *lines[0].Start
	}
	begin(start)
	for _, one := range lines {
		if one.Start != nil {
			continue
		}
		if err := replay(one); err != nil {
			return nil, err
		}
	}
	j, err := appendTo(path, size)
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 {
		j.Append(Line{Start: &start, At: start})
	}
	return j, j.err
}

// read returns the lines of a journal and their size in bytes. It leaves out an incomplete
// last line, as after a power cut.
func read(path string) (lines []Line, size int64, err error) {
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
		var one Line
		if err == nil {
			err = json.Unmarshal(text, &one)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", len(lines)+1, err)
		}
		lines, size = append(lines, one), size+int64(len(text))
	}
}

func appendTo(path string, size int64) (*Journal, error) {
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
	return &Journal{file: file}, nil
}

// Append writes a command that has run. After an error nothing more is written, and Close
// returns the error: a lab with an incomplete journal would have another state after a restart.
func (j *Journal) Append(one Line) {
	if j == nil || j.err != nil {
		return
	}
	text, err := json.Marshal(one)
	if err == nil {
		_, err = j.file.Write(append(text, '\n'))
	}
	j.err = err
}

// Close closes the file.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	return errors.Join(j.err, j.file.Close())
}
