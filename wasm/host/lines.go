package host

import (
	"bytes"
	"log/slog"
)

// Bounds on what one request may print.
const (
	maxLine  = 4 * kib
	maxLines = 100
)

// lines converts the output of a guest to log records, one per line. Long lines are
// truncated, and lines beyond the budget of a request are counted and dropped, so that a
// guest cannot fill the log.
type lines struct {
	log     *slog.Logger
	line    []byte
	budget  int // lines left in this request
	dropped int
}

// Write adds output of the guest; it never fails.
func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for {
		before, rest, found := bytes.Cut(p, []byte("\n"))
		l.line = append(l.line, before[:min(len(before), maxLine-len(l.line))]...)
		if !found {
			return n, nil
		}
		l.end()
		p = rest
	}
}

func (l *lines) end() {
	if l.budget > 0 {
		l.budget--
		l.log.Info("guest", "line", string(l.line))
	} else {
		l.dropped++
	}
	l.line = l.line[:0]
}

// discard drops the output after the last logged line.
func (l *lines) discard() { l.line, l.dropped = l.line[:0], 0 }

// flush logs an unfinished line and the number of dropped lines.
func (l *lines) flush() {
	if len(l.line) > 0 {
		l.end()
	}
	if l.dropped > 0 {
		l.log.Warn("guest printed too much", "dropped", l.dropped)
		l.dropped = 0
	}
}
