package job

import "kith/core"

// Params are what a job's params ask for, as far as they mean anything here
// (reference, 1.9 and 3.1).
type Params struct {
	// Created, Updated and Changed narrow an export to what was made, was last
	// changed, or was either, within a span.
	Created, Updated, Changed core.Span
	// Program narrows an export to one program, when it is not empty.
	Program core.ProgramKey
	// Dates says how dates are written; empty leaves it to the tenant.
	Dates Dates
	// EventKeys narrow an export of events, when there are any.
	EventKeys []string
	// At is the moment that balances are of. No caller sets it: what was is not
	// known.
	At core.Time
	// Unit narrows an export of balances, when it is not empty.
	Unit string

	// Segments are operations on every user of an import, behind its own.
	Segments []string
	// PreserveEmptyAccounts and DoNotTrack are for rows of a deletion that do
	// not say themselves.
	PreserveEmptyAccounts *bool
	DoNotTrack            *bool
	// MaxErrors is after how many rejected rows an import stops; 0 is
	// DefaultMaxErrors.
	MaxErrors int64
	// Silent is true for an import that no webhook is to tell of.
	Silent bool
}

// After how many rejected rows an import stops, unless its params say otherwise, and
// the most that they may say.
const (
	DefaultMaxErrors = 10_000
	MostMaxErrors    = 1_000_000
)

// Dates says how the dates of an export are written.
type Dates string

const (
	// DatesMillis is epoch milliseconds, as clients have always read them
	// (reference, 7.3).
	DatesMillis Dates = "MS"
	// DatesISO is a time as in RFC 3339, in UTC.
	DatesISO Dates = "ISO"
)

// ParseDates returns s as a way to write dates or an error about field.
func ParseDates(field, s string) (Dates, error) {
	switch dates := Dates(s); dates {
	case DatesMillis, DatesISO:
		return dates, nil
	}
	return "", core.Invalid(field, "must be MS or ISO")
}
