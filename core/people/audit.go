package people

import (
	"slices"

	"kith/core"
)

// AuditLife is how long entries of the audit log are kept.
const AuditLife = 400 * core.Day

const (
	// MaxAuditRefused is the most entries of PermissionRefused about a person in an hour.
	MaxAuditRefused = 10
	// MaxAuditPage is the most entries of a page of the audit log.
	MaxAuditPage = 100
	// MaxAuditExport is the most entries of an export of the audit log.
	MaxAuditExport = 10_000
	// MaxAuditValue is the most bytes of Before and After each.
	MaxAuditValue = 16 << 10
)

// Action is what an entry of the audit log records; see operation.Actions. Names are
// "subject.verb" and never change.
type Action string

// Entry is one change in the audit log of a tenant.
type Entry struct {
	// Seq is the number of the entry. Later entries of a database have higher numbers.
	Seq int64
	At  core.Time
	// Actor is the person who made the change, by address. It is "command line" for the
	// operator, and "API key" with the name of the key for a caller of the API. From is the
	// IP address.
	Person PersonID
	Actor  string
	From   string
	Action Action
	// Subject is what was changed: the address of a member, the key of a program.
	Subject string
	// Before and After are JSON objects without secrets, or empty.
	Before, After string
	// Account and User are the user that the entry is about, if it is about one, so that
	// an export and an erasure of that user find it.
	Account core.AccountID
	User    core.UserID
	// InvitedBy is who vouched for the actor's address at that time; see Vouching.
	InvitedBy string
}

// The actors that are no people: the command line, and an API key, whose name follows.
const (
	Operator = "command line"
	apiKey   = "API key"
)

// AuditFilter selects entries. The zero value selects all.
type AuditFilter struct {
	// Actor and Subject are compared without regard to case, and may be a part of the
	// text.
	Actor, Subject string
	Action         Action
	Span           core.Span
	// Before is the Seq of the last entry of the page before; zero: the first page.
	Before int64
	// Limit is the most entries of a page; zero: MaxAuditPage.
	Limit int
}

// AuditFormat is the form of a file with entries of the audit log.
type AuditFormat string

// The formats.
const (
	AuditCSV  AuditFormat = "csv"
	AuditJSON AuditFormat = "json"
)

// ParseAuditFormat returns s as a format, AuditCSV if it is empty, or an error about field.
func ParseAuditFormat(field, s string) (AuditFormat, error) {
	if s == "" {
		return AuditCSV, nil
	}
	if f, ok := core.OneOf(s, AuditCSV, AuditJSON); ok {
		return f, nil
	}
	return "", core.Invalid(field, "must be csv or json")
}

// Type returns the media type of a file.
func (f AuditFormat) Type() string {
	if f == AuditJSON {
		return "application/json; charset=utf-8"
	}
	return "text/csv; charset=utf-8"
}

const tooLong = "must be at most 254 bytes; shorten it"

// Check returns an error about the field of a filter that can select nothing. known are the
// actions that entries may have.
func (f AuditFilter) Check(known []Action) error {
	switch {
	case f.Action != "" && !slices.Contains(known, f.Action):
		return core.Invalid("action", "is not an action of the audit log; give one such as member.invited")
	case f.Limit < 0 || f.Limit > MaxAuditPage:
		return core.Invalid("limit", "must be a whole number from 1 to 100")
	case len(f.Actor) > maxEmail:
		return core.Invalid("actor", tooLong)
	case len(f.Subject) > maxEmail:
		return core.Invalid("subject", tooLong)
	case f.Span.Before != 0 && f.Span.From >= f.Span.Before:
		return core.Invalid("to", "must not be before the first day; exchange the two days")
	}
	return nil
}
