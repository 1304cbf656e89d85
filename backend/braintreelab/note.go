package braintreelab

import (
	"encoding/base64"
	"strings"
	"time"

	"kith/backend/gateway/braintree"
	"kith/backend/gateway/xmltree"
)

// note is a notification, with the state at the time when it was made.
type note struct {
	kind braintree.Kind
	at   time.Time
	// subject is the id of the record that it is about.
	subject string
	// payload is the encoded notification; every try sends the same bytes.
	payload string
}

func (b *book) notify(kind braintree.Kind, s *subscription) { b.addNote(kind, s.id, s.xml(b.now)) }

func (b *book) notifyDispute(kind braintree.Kind, d *dispute) { b.addNote(kind, d.id, d.xml()) }

func (b *book) notifyCheck() { b.addNote(braintree.Check, "", xmltree.Bool("check", true)) }

func (b *book) addNote(kind braintree.Kind, subject string, doc *xmltree.Node) {
	notification := xmltree.Object("notification",
		xmltree.Text("kind", string(kind)), xmltree.DateTime("timestamp", b.now), xmltree.Object("subject", doc))
	b.notes = append(b.notes, &note{kind: kind, at: b.now, subject: subject, payload: wrap(notification.Encode())})
}

// column is the length of the gateway's base64 lines.
const column = 60

// wrap encodes in base64 as the gateway does: in lines of 60 characters.
func wrap(doc []byte) string {
	text := base64.StdEncoding.EncodeToString(doc)
	var b strings.Builder
	for len(text) > 0 {
		n := min(column, len(text))
		b.WriteString(text[:n] + "\n")
		text = text[n:]
	}
	return b.String()
}
