package braintreelab

import (
	"encoding/base64"
	"strings"
	"time"

	"kith/backend/gateway"
	"kith/backend/gateway/xmltree"
)

// note is a notification that was made, as it was then.
type note struct {
	kind gateway.Kind
	at   time.Time
	// subject is the id of what it is about.
	subject string
	// payload is sent as it is, however often.
	payload string
}

func (b *book) notify(kind gateway.Kind, s *subscription) { b.tell(kind, s.id, s.xml(b.now)) }

func (b *book) notifyDispute(kind gateway.Kind, d *dispute) { b.tell(kind, d.id, d.xml()) }

func (b *book) notifyCheck() { b.tell(gateway.Check, "", xmltree.Bool("check", true)) }

func (b *book) tell(kind gateway.Kind, subject string, doc *xmltree.Node) {
	notification := xmltree.Object("notification",
		xmltree.Text("kind", string(kind)), xmltree.DateTime("timestamp", b.now), xmltree.Object("subject", doc))
	b.notes = append(b.notes, &note{kind: kind, at: b.now, subject: subject, payload: wrap(notification.Encode())})
}

// column is where the gateway breaks the lines of its base64.
const column = 60

// wrap encodes as the gateway does: lines of 60, each with its end.
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
