// Package exportfile decides what stands in the files that jobs write: their
// columns and the text of their cells. It reads nothing and writes nothing.
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

// Kind is what a column holds, and so how its cells are written.
type kind uint8

const (
	// id is a text that joins rows: an id, a code, a word of ours. Whoever makes a
	// user chooses it, so that it may be a formula as any text.
	id kind = iota
	// text is what people wrote.
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

// who is a user in the files that are about something else.
func who(prefix string) []column {
	return join(ids(prefix+"accountId", prefix+"id"), texts(prefix+"email", prefix+"firstName", prefix+"lastName"))
}

// files are the columns of each type. Those of USER, REFERRAL and
// REWARD_BALANCE are the reference's (3.6), and the columns of all others are
// named like them.
//
// Spec silent: a file has all columns of its type, whatever params.fields says.
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
		ids("type"), numbers("amount"), ids("unit")),
	job.UserReferral: join(ids("id", "accountId"), texts("email", "firstName", "lastName"), dates("dateCreated"),
		ids("referralId", "programId", "referralCodeUsed", "referrerUser", "referrerAccount"),
		dates("dateReferralStarted", "dateConverted", "dateReferralEnded")),
	job.Reward: join(ids("id", "type", "accountId", "userId", "programId", "referralId", "rewardSource"),
		ids("unit"), columns(percent, []string{"discountPercent"}), numbers("assignedCredit", "redeemedCredit"), ids("currency"),
		dates("dateCreated", "dateGiven", "dateScheduledFor", "dateExpires", "dateCancelled")),
	job.UserEvent: join(ids("user.accountId", "user.id", "event.id"), texts("event.key"),
		dates("event.dateTriggered", "event.dateReceived", "event.dateProcessed"), ids("event.fields")),
	// What an import tells of the rows that it carried out (reference, 3.4).
	job.ImportDelete:            ids("accountId", "id"),
	job.ImportRedeem:            join(ids("accountId", "id", "unit"), numbers("valueRedeemed", "availableValue")),
	job.RedeemableRewardBalance: join(who("user."), ids("type", "unit"), numbers("availableValue")),
}

// columnsOf are the columns of a file. An import of users or events tells of them
// as an export does (reference, 3.4).
func columnsOf(t job.Type) []column {
	switch t {
	case job.ImportUser:
		t = job.User
	case job.ImportUserEvent:
		t = job.UserEvent
	}
	return files[t]
}

// ErrorsHeader is the first row of an errors file (reference, 3.4).
func ErrorsHeader() []string {
	return []string{"recordNumber", "message", "apiErrorCode", "statusCode"}
}

// Header is the first row of a file: the names of its columns.
func Header(t job.Type) []string {
	names := make([]string, len(columnsOf(t)))
	for i, c := range columnsOf(t) {
		names[i] = c.name
	}
	return names
}

// Form is how the cells of a file are written.
type Form struct {
	Format job.Format
	Dates  job.Dates
	// Share makes share links; without an origin there are none.
	Share link.Share
}

// Row writes what is stored, in the order of the columns, as cells of a file,
// in place. A row that is shorter than the file is wide is a fault of whoever
// stores.
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

// shareLink is a link of a code for the medium that the column is named after.
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

// Harmless returns a text that a spreadsheet takes for a text: one that it would
// take for a formula gets an apostrophe in front. Only cells of a CSV file need
// it; those of an XLSX file say what they are. Plain is the way back.
func Harmless(s string) string {
	if formula(s) {
		return "'" + s
	}
	return s
}

// Plain returns what Harmless was given.
func Plain(s string) string {
	if formula(s) {
		return strings.TrimPrefix(s, "'")
	}
	return s
}

// formula reports whether a text begins like a formula, behind any apostrophes: one
// that begins with an apostrophe itself gets another, so that Plain takes the right
// one.
func formula(s string) bool {
	switch first, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, "'")); first {
	// Some spreadsheets take the wide forms of the signs for the signs.
	case '=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠':
		return true
	}
	return false
}
