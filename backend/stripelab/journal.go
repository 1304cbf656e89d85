package stripelab

import (
	"fmt"
	"time"

	"kith/backend/labkit"
)

// open makes the book: a new one, or the one recorded in the journal.
func (l *Lab) open() (err error) {
	begin := func(start time.Time) {
		l.book = newBook(start)
		l.book.now = start.Truncate(time.Second)
	}
	l.journal, err = labkit.OpenJournal(l.options.Journal, l.options.Now().UTC().Truncate(time.Microsecond), begin, l.replay)
	if err != nil {
		return fmt.Errorf("stripelab: %w", err)
	}
	return nil
}

// replay runs a command again, at its recorded time. Its events were sent then, or are lost.
func (l *Lab) replay(one labkit.Line) error {
	params, err := parseForm(one.Body)
	if err != nil {
		return err
	}
	if !isCommand(one.Call) {
		return fmt.Errorf("unknown call %s; use the version that wrote the journal, or delete it, which empties the lab", one.Call)
	}
	l.book.runTo(one.At)
	l.book.once(l, &call{name: one.Call, path: one.Path, id: one.ID, base: one.Base, idempotency: one.Key, encoded: one.Body, form: params})
	l.book.notes = nil
	return nil
}

// record appends a call that has run to the journal, unless it only reads.
func (l *Lab) record(at time.Time, c *call) {
	if !c.reads() && isCommand(c.name) {
		l.journal.Append(labkit.Line{At: at, Call: c.name, Path: c.path, ID: c.id, Base: c.base, Key: c.idempotency, Body: c.encoded})
	}
}

// isCommand reports whether the lab has a call or a control of a name.
func isCommand(name string) bool {
	_, called := endpoints[name]
	_, controlled := controls[name]
	return called || controlled
}
