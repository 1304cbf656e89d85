package wire

import "kith/core/people"

// AuditEntry returns an entry of the audit log as JSON. What it has not is null.
func AuditEntry(e people.Entry) []byte { return appendAuditEntry(nil, e) }

func appendAuditEntry(b []byte, e people.Entry) []byte {
	w := writer{b: b}
	w.open()
	w.number("seq", e.Seq)
	w.number("date", int64(e.At))
	w.text("actor", e.Actor)
	w.textOrNull("ipAddress", e.From)
	w.text("action", string(e.Action))
	w.text("subject", e.Subject)
	w.rawOrNull("before", e.Before)
	w.rawOrNull("after", e.After)
	w.textOrNull("accountId", string(e.Account))
	w.textOrNull("userId", string(e.User))
	w.close()
	return w.b
}

// rawOrNull writes a value that is already JSON, or null if it is empty.
func (w *writer) rawOrNull(name, json string) {
	if json == "" {
		json = "null"
	}
	w.raw(name, json)
}
