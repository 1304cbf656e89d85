package exportfile

import (
	"slices"
	"strconv"
	"time"

	"kith/core/people"
)

// AuditHeader returns the columns of a file with entries of the audit log. With a zone, the file
// is for people and has their times in it too.
func AuditHeader(zone *time.Location) []string {
	names := []string{"seq", "time", "actor", "ip", "action", "subject", "before", "after", "accountId", "userId", "invitedBy"}
	if zone != nil {
		names = slices.Insert(names, 1, "time ("+zone.String()+")")
	}
	return names
}

// AuditRow returns the cells of an entry of the audit log for AuditHeader.
func AuditRow(e people.Entry, zone *time.Location) []string {
	at := time.UnixMilli(int64(e.At))
	row := []string{
		strconv.FormatInt(e.Seq, 10), at.UTC().Format(ISOTime), e.Actor, e.From, string(e.Action),
		e.Subject, e.Before, e.After, string(e.Account), string(e.User), e.InvitedBy,
	}
	if zone != nil {
		row = slices.Insert(row, 1, at.In(zone).Format(LocalTime))
	}
	for i := range row {
		row[i] = HarmlessToPeople(row[i])
	}
	return row
}
