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
	// number is a whole number.
	number
	// percent is a number of basis points.
	percent
	// share is a code, written as its share link.
	share
	// hash is an e-mail address, written as its hash.
	hash
)

// column is one column of a file.
type column struct {
	name string
	kind kind
}

func ids(names ...string) []column     { return columns(id, names) }
func texts(names ...string) []column   { return columns(text, names) }
func dates(names ...string) []column   { return columns(date, names) }
func numbers(names ...string) []column { return columns(number, names) }

func columns(k kind, names []string) []column {
	all := make([]column, len(names))
	for i, name := range names {
		all[i] = column{name, k}
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
		ids("type"), numbers("amount"), ids("unit", "currency")),
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
	job.RedeemableRewardBalance: join(userColumns("user."), ids("type", "unit"), numbers("availableValue"), ids("currency")),
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

// Header returns the first row of a file: the names of its columns.
func Header(t job.Type) []string {
	names := make([]string, len(columnsOf(t)))
	for i, c := range columnsOf(t) {
		names[i] = c.name
	}
	return names
}

// Form has the settings by which the cells of a file are written.
type Form struct {
	Format job.Format
	Dates  job.Dates
	// Share builds share links. Without an origin their cells are empty.
	Share link.Share
}

// Row converts stored values, in the order of the columns, to cells of a file, in
// place. cells must have a value for every column.
func (f Form) Row(t job.Type, cells []string) []string {
	for i, c := range columnsOf(t) {
		cells[i] = f.cell(c, cells[i])
	}
	return cells
}

func (f Form) cell(c column, stored string) string {
	switch c.kind {
	case id, text:
		if f.Format == job.CSV {
			return Harmless(stored)
		}
	case date:
		if f.Dates == job.DatesISO && stored != "" {
			return isoDate(stored)
		}
	case percent:
		if n, err := strconv.ParseInt(stored, 10, 64); err == nil {
			return reward.BasisPoints(n).String()
		}
	case share:
		return f.shareLink(c.name, core.ReferralCode(stored))
	case hash:
		return referral.EmailHash(stored)
	}
	return stored
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

func isoDate(millis string) string {
	n, err := strconv.ParseInt(millis, 10, 64)
	if err != nil {
		return millis
	}
	return time.UnixMilli(n).UTC().Format("2006-01-02T15:04:05.000Z")
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
