package wire

import (
	"testing"

	"kith/core/people"
)

func TestAuditEntry(t *testing.T) {
	for want, e := range map[string]people.Entry{
		`{"seq":7,"date":5,"actor":"ann@x.example","ipAddress":"192.0.2.1","action":"member.invited","subject":"b\"en","before":null,"after":{"role":"viewer"},"accountId":"a","userId":"u"}`: {
			Seq: 7, At: 5, Person: "p", Actor: "ann@x.example", From: "192.0.2.1", Action: people.MemberInvited, Subject: `b"en`, After: `{"role":"viewer"}`, Account: "a", User: "u",
		},
		`{"seq":8,"date":6,"actor":"command line","ipAddress":null,"action":"member.removed","subject":"ben","before":{"role":"owner"},"after":null,"accountId":null,"userId":null}`: {
			Seq: 8, At: 6, Actor: people.Operator, Action: people.MemberRemoved, Subject: "ben", Before: `{"role":"owner"}`,
		},
	} {
		if got := string(AuditEntry(e)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
