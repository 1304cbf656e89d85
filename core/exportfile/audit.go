package exportfile

import (
	"strconv"

	"kith/core/people"
)

// AuditHeader returns the columns of a file with entries of the audit log.
func AuditHeader() []string {
	return []string{"seq", "time", "actor", "ip", "action", "subject", "before", "after", "accountId", "userId", "invitedBy"}
}

// AuditRow returns the cells of an entry of the audit log.
func AuditRow(e people.Entry) []string {
	row := []string{
		strconv.FormatInt(e.Seq, 10), isoDate(strconv.FormatInt(int64(e.At), 10)), e.Actor, e.From, string(e.Action),
		e.Subject, e.Before, e.After, string(e.Account), string(e.User), e.InvitedBy,
	}
	for i := range row {
		row[i] = Harmless(row[i])
	}
	return row
}
