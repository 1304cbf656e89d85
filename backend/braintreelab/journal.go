package braintreelab

import (
	"fmt"
	"time"

	"kith/backend/gateway/xmltree"
	"kith/backend/labkit"
)

// open makes the book: a new one, or the one recorded in the journal.
func (l *Lab) open() (err error) {
	begin := func(start time.Time) { l.book = newBook(start, l.options) }
	l.journal, err = labkit.OpenJournal(l.options.Journal, l.options.Now().UTC().Truncate(time.Second), begin, l.replay)
	if err != nil {
		return fmt.Errorf("gatewaylab: %w", err)
	}
	// Notifications from before this start were sent then, or are lost.
	l.taken = len(l.book.notes)
	return nil
}

// replay runs a command again, at its recorded time.
func (l *Lab) replay(one labkit.Line) error {
	// The body is in XML, whatever form the client sent.
	body, err := xmltree.Parse([]byte(one.Body))
	if err != nil {
		return err
	}
	do := commandFor(one.Call)
	if do == nil {
		return fmt.Errorf("unknown call %s; use the version that wrote the journal, or delete it, which empties the lab", one.Call)
	}
	l.book.runTo(one.At)
	do(l, command{call: one.Call, id: one.ID, body: body})
	return nil
}
