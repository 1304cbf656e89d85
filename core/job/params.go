package job

import "kith/core"

// Params are the parameters of a job that the service supports
// (clients 1.9.4, clients 3.1.6).
type Params struct {
	// Created, Updated and Changed limit an export to rows that were created, were
	// last updated, or either, within a span.
	Created, Updated, Changed core.Span
	// Program limits an export to one program; empty means all.
	Program core.ProgramKey
	// Dates is the format of dates; empty means the tenant's setting.
	Dates Dates
	// Zone is the time zone of DatesLocal by its name, such as Europe/Berlin; empty means the
	// tenant's.
	Zone string
	// EventKeys limit an export of events to these keys; empty means all.
	EventKeys []string
	// At is the time of an export's balances. Callers cannot set it, because past
	// balances are not stored.
	At core.Time
	// Unit limits an export of balances to one unit; empty means all.
	Unit string

	// Segments are operations on every user of an import, applied after the row's
	// own.
	Segments []string
	// PreserveEmptyAccounts and DoNotTrack are the defaults for rows of a deletion
	// that have no such cell.
	PreserveEmptyAccounts *bool
	DoNotTrack            *bool
	// MaxErrors is the number of rejected rows after which an import is aborted; 0
	// means DefaultMaxErrors.
	MaxErrors int64
	// Columns says which columns of the file of an import fill which ones of Kith; nil if the
	// file has the names of Kith. See importfile.Mapping, which this package cannot name.
	Columns map[string]string
	// Silent is true for an import that sends no webhooks.
	Silent bool
}

// Default and maximum of Params.MaxErrors.
const (
	DefaultMaxErrors = 10_000
	MaxErrorsLimit   = 1_000_000
)

// Dates is the format of the dates of an export.
type Dates string

const (
	// DatesMillis is epoch milliseconds, as clients have always read them
	// (clients 7.3.3).
	DatesMillis Dates = "MS"
	// DatesISO is a time as in RFC 3339, in UTC.
	DatesISO Dates = "ISO"
	// DatesLocal is a file for people with a spreadsheet: times as 2026-11-26 14:03:00 in a
	// time zone, and epoch milliseconds in further columns. It is a form of single exports.
	DatesLocal Dates = "LOCAL"
)

// ParseDates returns s as a format of dates of all exports of a tenant, or an error about field.
func ParseDates(field, s string) (Dates, error) {
	switch dates := Dates(s); dates {
	case DatesMillis, DatesISO:
		return dates, nil
	}
	return "", core.Invalid(field, "must be MS or ISO")
}

// ParseExportDates returns s as a format of dates of one export, or an error about field.
func ParseExportDates(field, s string) (Dates, error) {
	if Dates(s) == DatesLocal {
		return DatesLocal, nil
	}
	if dates, err := ParseDates(field, s); err == nil {
		return dates, nil
	}
	return "", core.Invalid(field, "must be MS, ISO or LOCAL")
}
