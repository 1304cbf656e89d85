package wire

import (
	"testing"

	"kith/core/analytics"
	"kith/core/operation"
	"kith/core/people"
)

func TestAuditEntry(t *testing.T) {
	for want, e := range map[string]people.Entry{
		`{"seq":7,"date":5,"actor":"ann@x.example","ipAddress":"192.0.2.1","action":"member.invited","subject":"b\"en","before":null,"after":{"role":"viewer"},"accountId":"a","userId":"u","invitedBy":"API key crm"}`: {
			Seq: 7, At: 5, Person: "p", Actor: "ann@x.example", From: "192.0.2.1", Action: operation.InviteMember.Action, Subject: `b"en`, After: `{"role":"viewer"}`, Account: "a", User: "u",
			InvitedBy: "API key crm",
		},
		`{"seq":8,"date":6,"actor":"command line","ipAddress":null,"action":"member.removed","subject":"ben","before":{"role":"owner"},"after":null,"accountId":null,"userId":null,"invitedBy":null}`: {
			Seq: 8, At: 6, Actor: people.Operator, Action: operation.RemoveMember.Action, Subject: "ben", Before: `{"role":"owner"}`,
		},
	} {
		if got := string(AuditEntry(e)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestMembers(t *testing.T) {
	members := []people.Member{
		{Person: "p1", Email: "ann@x.example", Name: "Ann", Role: people.Owner, TOTP: true, Joined: 1, SignedIn: 2, Proven: true, InvitedBy: people.Operator},
		{Person: "p2", Email: "ben@x.example", Role: people.Viewer, Joined: 3},
	}
	open := []people.Invitation{{Tenant: "demo", ID: "i1", Email: "cleo@x.example", Role: people.Support, By: "ann@x.example", Created: 4, Expires: 5}}
	invitation := `{"id":"i1","email":"cleo@x.example","role":"support","invitedBy":"ann@x.example","dateCreated":4,"dateExpires":5`
	for want, got := range map[string][]byte{
		`{"count":2,"members":[{"id":"p1","email":"ann@x.example","name":"Ann","role":"owner","twoStepSignIn":true,"dateJoined":1,"dateLastSignedIn":2,"addressProven":true,"invitedBy":"command line"},` +
			`{"id":"p2","email":"ben@x.example","name":null,"role":"viewer","twoStepSignIn":false,"dateJoined":3,"dateLastSignedIn":null,"addressProven":false,"invitedBy":null}],"invitations":[` + invitation + `}]}`: Members(members, open),
		`{"count":0,"members":[],"invitations":[]}`:     Members(nil, nil),
		invitation + `,"link":"https://x.example/i/t"}`: NewInvitation(open[0], "https://x.example/i/t"),
		`{"pendingReferrals":1,"failedWebhooks":2,"failingEndpoints":7,"failedGatewayOperations":100,"refusedEvents":4,"undatedTokens":6,"unknownCodes":5,"fuelTanks":[{"programId":"classic","programName":"Classic","side":"referrer","available":3,"due":0}]}`: Attention(
			analytics.Attention{Pending: 1, FailedWebhooks: 2, FailingEndpoints: 7, FailedGateway: 100, RefusedEvents: 4, UndatedTokens: 6, UnknownCodes: 5, Tanks: []analytics.TankLevel{{Program: "classic", ProgramName: "Classic", Side: "referrer", Available: 3}}}),
		`{"count":0,"entries":[],"next":7}`:   AuditEntries(nil, 7),
		`{"count":0,"keys":[],"server":null}`: SFTPKeys(nil, nil),
		`{"fingerprint":"SHA256:a/b","type":"ssh-rsa","note":null,"dateCreated":1,"dateLastUsed":null}`: NewSFTPKey(SFTPKey{Fingerprint: "SHA256:a/b", Type: "ssh-rsa", Created: 1}),
		`{"count":1,"keys":[{"fingerprint":"f","type":"t","note":"n","dateCreated":1,"dateLastUsed":2}],"server":{"address":"127.0.0.1:2022","hostKey":"SHA256:h"}}`: SFTPKeys(
			[]SFTPKey{{Fingerprint: "f", Type: "t", Note: "n", Created: 1, Used: 2}}, &SFTPServer{Addr: "127.0.0.1:2022", HostKey: "SHA256:h"}),
	} {
		if string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestParse_BodiesAboutMembers(t *testing.T) {
	for body, want := range map[string]NewMember{`{"email":"a@x","role":"viewer"}`: {"a@x", "viewer"}, `{"role":null}`: {}} {
		if got, err := ParseInvitation([]byte(body)); got != want || err != nil {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
	if role, err := ParseMemberRole([]byte(`{"role":"owner"}`)); role != "owner" || err != nil {
		t.Error(role, err)
	}
	if key, err := ParseSFTPKey([]byte(`{"key":"ssh-rsa A"}`)); key != "ssh-rsa A" || err != nil {
		t.Error(key, err)
	}
	for body, want := range map[string]string{
		`{}`:        `key: is required; give a public key as ssh-keygen writes it, such as "ssh-ed25519 AAAA… name"`,
		`{"key":1}`: "key: must be a string",
	} {
		if _, err := ParseSFTPKey([]byte(body)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", body, err)
		}
	}
}
