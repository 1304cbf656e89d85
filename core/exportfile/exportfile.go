// Package exportfile decides the contents of the files that jobs write: their columns
// and the text of their cells. It does no I/O.
package exportfile

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"kith/core"
	"kith/core/job"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
)

// kind is the kind of a column's values, which decides how its cells are written.
type kind uint8

const (
	// id is an id, a code or a constant. Callers choose ids, so one may look like a
	// formula, as any text.
	id kind = iota
	// text is text that people wrote.
	text
	// date is a time in epoch milliseconds, or empty.
	date
	// number is a whole number; for people, percent may have decimals.
	number
	// percent is a number of basis points.
	percent
	// share is a code, written as its share link.
	share
	// hash is an e-mail address, written as its hash.
	hash
	// millis is a date that is written as it is stored, for programs.
	millis
	// money is the revenue of an order, as the shop sent it.
	money
	// currency is that of a balance. After ~ it is the only one of its user, which only files
	// for people have.
	currency
)

// column is one column of a file.
type column struct {
	name string
	kind kind
	// at is the index of the stored value from which its cells are written.
	at int
}

func ids(names ...string) []column     { return columns(id, names) }
func texts(names ...string) []column   { return columns(text, names) }
func dates(names ...string) []column   { return columns(date, names) }
func numbers(names ...string) []column { return columns(number, names) }

func columns(k kind, names []string) []column {
	all := make([]column, len(names))
	for i, name := range names {
		all[i] = column{name: name, kind: k}
	}
	return all
}

func join(parts ...[]column) []column {
	var all []column
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

// userColumns returns the columns that identify a user in files about something else.
func userColumns(prefix string) []column {
	return join(ids(prefix+"accountId", prefix+"id"), texts(prefix+"email", prefix+"firstName", prefix+"lastName"))
}

// files has the columns of each type. Those of USER, REFERRAL and REWARD_BALANCE are
// from clients 3.6; the columns of all others are named in the same way.
//
// Spec silent: a file has all columns of its type; params.fields is ignored.
var files = map[job.Type][]column{
	job.User: join(
		ids("id", "accountId"), texts("email", "firstName", "lastName", "imageUrl"), ids("firstSeenIP", "lastSeenIP"),
		dates("dateCreated"), columns(hash, []string{"emailHash"}), ids("referralSource", "locale"),
		columns(share, []string{"shareLink", "facebookShareLink", "twitterShareLink", "emailShareLink", "linkedinShareLink"})),
	job.Referral: join(
		ids("id", "programId", "referredUser", "referredAccount", "referredReward", "referredModerationStatus",
			"referrerUser", "referrerAccount", "referrerReward", "referrerModerationStatus"),
		dates("dateReferralStarted", "dateConverted", "dateReferralPaid", "dateReferralEnded", "dateModerated")),
	job.RewardBalance: join(ids("userId", "accountId", "type"), numbers("amount"), ids("unit")),
	job.UserRewardBalance: join(ids("id", "accountId"), texts("email", "firstName", "lastName"),
		ids("type"), numbers("amount"), ids("unit"), columns(currency, []string{"currency"})),
	job.UserReferral: join(ids("id", "accountId"), texts("email", "firstName", "lastName"), dates("dateCreated"),
		ids("referralId", "programId", "referralCodeUsed", "referrerUser", "referrerAccount"),
		dates("dateReferralStarted", "dateConverted", "dateReferralEnded")),
	job.Reward: join(ids("id", "type", "accountId", "userId", "programId", "referralId", "rewardSource"),
		ids("unit"), columns(percent, []string{"discountPercent"}), numbers("assignedCredit", "redeemedCredit"), ids("currency"),
		dates("dateCreated", "dateGiven", "dateScheduledFor", "dateExpires", "dateCancelled"),
		ids("orderId"), columns(percent, []string{"reversedPercent"}), numbers("reversedCredit", "settledCredit")),
	job.UserEvent: join(ids("user.accountId", "user.id", "event.id"), texts("event.key"),
		dates("event.dateTriggered", "event.dateReceived", "event.dateProcessed"), ids("event.fields")),
	// The result file of an import lists its successful rows (clients 3.4.1).
	job.ImportDelete:            ids("accountId", "id"),
	job.ImportRedeem:            join(ids("accountId", "id", "unit"), numbers("valueRedeemed", "availableValue")),
	job.RedeemableRewardBalance: join(userColumns("user."), ids("type", "unit"), numbers("availableValue"), columns(currency, []string{"currency"})),
}

// columnsOf returns the columns of a file. The result file of an import of users or
// events has the columns of the export (clients 3.4.1).
func columnsOf(t job.Type) []column {
	switch t {
	case job.ImportUser:
		t = job.User
	case job.ImportUserEvent:
		t = job.UserEvent
	}
	return files[t]
}

// ErrorsHeader returns the first row of an errors file (clients 3.4.2).
func ErrorsHeader() []string {
	return []string{"recordNumber", "message", "apiErrorCode", "statusCode"}
}

// Form has the settings by which the cells of a file are written.
type Form struct {
	Format job.Format
	Dates  job.Dates
	// Zone is the time zone of the dates of job.DatesLocal; nil is UTC.
	Zone *time.Location
	// Share builds share links. Without an origin their cells are empty.
	Share link.Share
}

// Mark is the mark by which spreadsheets know that a CSV file is UTF-8.
const Mark = "\ufeff"

// File is a file of a type of job in a form.
type File struct {
	form    Form
	columns []column
}

// File returns the file of a type of job. For people (job.DatesLocal) the columns of dates
// name their time zone, those with milliseconds follow at the end under the names that they
// always have, and events have what an order has in its fields.
func (f Form) File(t job.Type) File {
	if f.Zone == nil {
		f.Zone = time.UTC
	}
	all := File{form: f}
	var last []column
	for i, c := range columnsOf(t) {
		c.at = i
		if c.kind == date && all.ForPeople() {
			last = append(last, column{c.name, millis, i})
			c.name += " (" + f.Zone.String() + ")"
		}
		if c.name == "event.fields" && all.ForPeople() {
			all.columns = append(all.columns, column{"event.orderId", id, i + 1}, column{"event.revenue", money, i + 2}, column{"event.currency", id, i + 3})
		}
		all.columns = append(all.columns, c)
	}
	all.columns = append(all.columns, last...)
	return all
}

// ForPeople reports whether the file is for people with a spreadsheet; see job.DatesLocal.
func (f File) ForPeople() bool { return f.form.Dates == job.DatesLocal }

// Header returns the first row: the names of the columns.
func (f File) Header() []string {
	names := make([]string, len(f.columns))
	for i, c := range f.columns {
		names[i] = c.name
	}
	return names
}

// Cell is the type of the cells of a column in a spreadsheet.
type Cell uint8

const (
	// Text is any text.
	Text Cell = iota
	// Number is a number, or a text that is none.
	Number
	// Date is a time as LocalTime, or empty.
	Date
)

// LocalTime is the layout of the times of job.DatesLocal.
const LocalTime = time.DateTime

// Cells returns the types of the columns.
func (f File) Cells() []Cell {
	all := make([]Cell, len(f.columns))
	for i, c := range f.columns {
		switch c.kind {
		case date:
			all[i] = Date
		case number, percent, money:
			all[i] = Number
		}
	}
	return all
}

// Row returns the cells of a row for stored values: one for each column of the type, and after
// those of an event its order_id, revenue and currency. It may change stored.
func (f File) Row(stored []string) []string {
	row := stored[:min(len(stored), len(f.columns))]
	if f.ForPeople() {
		row = make([]string, len(f.columns))
	}
	for i, c := range f.columns {
		row[i] = f.form.cell(c, stored[c.at])
	}
	return row
}

func (f Form) cell(c column, stored string) string {
	switch c.kind {
	case id, text:
		return f.text(stored)
	case date:
		if stored == "" {
			return ""
		}
		switch f.Dates {
		case job.DatesISO:
			return dateIn(time.UTC, ISOTime, stored)
		case job.DatesLocal:
			return dateIn(f.Zone, LocalTime, stored)
		}
	case number:
		if f.Dates != job.DatesLocal {
			stored, _, _ = strings.Cut(stored, ".")
		}
	case percent:
		if n, err := strconv.ParseInt(stored, 10, 64); err == nil {
			return reward.BasisPoints(n).String()
		}
	case share:
		return f.shareLink(c.name, core.ReferralCode(stored))
	case hash:
		return referral.EmailHash(stored)
	case currency:
		only, ok := strings.CutPrefix(stored, "~")
		if ok && f.Dates != job.DatesLocal {
			return ""
		}
		return f.text(only)
	case money:
		if !IsNumber(stored) {
			return f.text(stored)
		}
	}
	return stored
}

// text returns a text that no spreadsheet reads as a formula.
func (f Form) text(s string) string {
	switch {
	case f.Format != job.CSV:
		return s
	case f.Dates == job.DatesLocal:
		return HarmlessToPeople(s)
	}
	return Harmless(s)
}

// IsNumber reports whether a text is a number of at most 15 digits, which a spreadsheet keeps,
// such as -12.50.
func IsNumber(s string) bool {
	whole, fraction, point := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	digits := whole + fraction
	return whole != "" && (!point || fraction != "") && len(digits) <= 15 && strings.Trim(digits, "0123456789") == "" && (len(whole) == 1 || whole[0] != '0')
}

// shareLink returns a code's link for the medium in the column's name.
func (f Form) shareLink(name string, code core.ReferralCode) string {
	if code == "" || f.Share.Origin == "" {
		return ""
	}
	medium := strings.ToUpper(strings.TrimSuffix(strings.TrimSuffix(name, "hareLink"), "S"))
	if name == "shareLink" {
		medium = ""
	}
	return f.Share.URL(code) + link.Mediums("", link.ShareMedium(medium))
}

// ISOTime is the layout of the times of job.DatesISO.
const ISOTime = "2006-01-02T15:04:05.000Z"

// dateIn writes epoch milliseconds as a time in a zone.
func dateIn(zone *time.Location, layout, millis string) string {
	n, err := strconv.ParseInt(millis, 10, 64)
	if err != nil {
		return millis
	}
	return time.UnixMilli(n).In(zone).Format(layout)
}

// Harmless returns s with an apostrophe in front if a spreadsheet would read it as a
// formula. Only CSV needs it; cells of an XLSX file have a type. Plain is the
// inverse.
func Harmless(s string) string {
	if formula(s) {
		return "'" + s
	}
	return s
}

// HarmlessToPeople is Harmless for files that people open: where lists have semicolons, a
// spreadsheet begins a new cell at each of them within a text, and at tabs and line breaks. Texts
// that begin a cell there get an apostrophe too, which Plain leaves.
func HarmlessToPeople(s string) string {
	const separators = ";\t\r\n"
	for at := strings.LastIndexAny(s, separators); at >= 0; at = strings.LastIndexAny(s[:at], separators) {
		if formula(s[at+1:]) {
			s = s[:at+1] + "'" + s[at+1:]
		}
	}
	return Harmless(s)
}

// Plain returns the text from which Harmless made s.
func Plain(s string) string {
	if formula(s) {
		return strings.TrimPrefix(s, "'")
	}
	return s
}

// formula reports whether a text, after any leading apostrophes, begins like a
// formula. Apostrophes of the text itself are included, so that Plain removes only
// the added one.
func formula(s string) bool {
	switch first, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, "'")); first {
	// Some spreadsheets accept the fullwidth forms of these characters.
	case '=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠':
		return true
	}
	return false
}
