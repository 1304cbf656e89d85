package exportfile

import (
	"slices"
	"strings"
	"testing"
	"time"

	"kith/core/job"
	"kith/core/link"
	"kith/core/operation"
	"kith/core/people"
)

// The columns that the Singer tap reads (clients 3.6).
func TestHeader_Reference(t *testing.T) {
	for typ, want := range map[job.Type]string{
		job.User: "id,accountId,email,firstName,lastName,imageUrl,firstSeenIP,lastSeenIP,dateCreated,emailHash,referralSource,locale," +
			"shareLink,facebookShareLink,twitterShareLink,emailShareLink,linkedinShareLink",
		job.Referral: "id,programId,referredUser,referredAccount,referredReward,referredModerationStatus,referrerUser,referrerAccount," +
			"referrerReward,referrerModerationStatus,dateReferralStarted,dateConverted,dateReferralPaid,dateReferralEnded,dateModerated",
		job.RewardBalance: "userId,accountId,type,amount,unit",
	} {
		if got := strings.Join(Form{}.File(typ).Header(), ","); got != want {
			t.Errorf("%s: %s\nwant %s", typ, got, want)
		}
	}
}

func TestHeader_EveryExportHasDistinctColumns(t *testing.T) {
	for _, typ := range job.Types() {
		if typ.Import() {
			continue
		}
		names := Form{Dates: job.DatesLocal}.File(typ).Header()
		slices.Sort(names)
		if len(names) == 0 || len(slices.Compact(names)) != len(Form{Dates: job.DatesLocal}.File(typ).Header()) {
			t.Errorf("%s: %v", typ, names)
		}
	}
}

func TestForm_Row(t *testing.T) {
	event := func() []string {
		return []string{"=a", "+u", "-e", "=key()", "1772355600123", "", "1", "{}"}
	}
	for _, c := range []struct {
		name string
		form Form
		typ  job.Type
		row  []string
		want []string
	}{
		{"CSV", Form{Format: job.CSV, Dates: job.DatesMillis}, job.UserEvent, event(),
			[]string{"'=a", "'+u", "'-e", "'=key()", "1772355600123", "", "1", "{}"}},
		{"XLSX with ISO dates", Form{Format: job.XLSX, Dates: job.DatesISO}, job.UserEvent, event(),
			[]string{"=a", "+u", "-e", "=key()", "2026-03-01T09:00:00.123Z", "", "1970-01-01T00:00:00.001Z", "{}"}},
		{"percents", Form{Format: job.CSV, Dates: job.DatesMillis}, job.Reward,
			[]string{"i", "PCT_DISCOUNT", "a", "u", "p", "r", "s", "%", "1250", "0", "0", "", "1", "", "", "", "", "=o", "250", "", ""},
			[]string{"i", "PCT_DISCOUNT", "a", "u", "p", "r", "s", "%", "12.5", "0", "0", "", "1", "", "", "", "", "'=o", "2.5", "", ""}},
		{"a balance in percent", Form{Format: job.CSV, Dates: job.DatesISO}, job.RewardBalance, []string{"u", "a", "PCT_DISCOUNT", "12.5", "%"}, []string{"u", "a", "PCT_DISCOUNT", "12", "%"}},
		{"a balance in the only currency", Form{Format: job.CSV, Dates: job.DatesMillis}, job.UserRewardBalance, []string{"u", "a", "e", "f", "l", "CREDIT", "7", "CENTS", "~EUR"}, []string{"u", "a", "e", "f", "l", "CREDIT", "7", "CENTS", ""}},
		{"the same for people", Form{Format: job.CSV, Dates: job.DatesLocal}, job.UserRewardBalance, []string{"u", "a", "e", "f", "l", "CREDIT", "7", "CENTS", "~EUR"}, []string{"u", "a", "e", "f", "l", "CREDIT", "7", "CENTS", "EUR"}},
		{"one of several", Form{Format: job.CSV, Dates: job.DatesMillis}, job.UserRewardBalance, []string{"u", "a", "e", "f", "l", "CREDIT", "7", "CENTS", "EUR"}, []string{"u", "a", "e", "f", "l", "CREDIT", "7", "CENTS", "EUR"}},
		{"a balance for people", Form{Format: job.CSV, Dates: job.DatesLocal}, job.RewardBalance, []string{"u", "a", "PCT_DISCOUNT", "12.5", "%"}, []string{"u", "a", "PCT_DISCOUNT", "12.5", "%"}},
		{"hash and links", Form{Format: job.CSV, Share: link.Share{Origin: "https://go.example", Tenant: "t"}}, job.User,
			[]string{"u", "a", "A@b.c ", "", "", "", "", "", "1", "A@b.c ", "", "", "ANN", "ANN", "ANN", "ANN", "ANN"},
			[]string{"u", "a", "A@b.c ", "", "", "", "", "", "1", "5d60d4e28066df254d5452f92c910092", "", "", "https://go.example/s/t/ANN",
				"https://go.example/s/t/ANN?rsShareMedium=FACEBOOK", "https://go.example/s/t/ANN?rsShareMedium=TWITTER",
				"https://go.example/s/t/ANN?rsShareMedium=EMAIL", "https://go.example/s/t/ANN?rsShareMedium=LINKEDIN"}},
		{"for people", Form{Format: job.CSV, Dates: job.DatesLocal, Zone: time.FixedZone("Europe/Berlin", 3600)}, job.UserEvent,
			[]string{"a", "u", "e", "purchase", "1772355600123", "", "1772355600123", "{}", "=7", "-12.5", "eur"},
			[]string{"a", "u", "e", "purchase", "2026-03-01 10:00:00", "", "2026-03-01 10:00:00", "'=7", "-12.5", "eur", "{}", "1772355600123", "", "1772355600123"}},
		{"no revenue", Form{Format: job.CSV, Dates: job.DatesLocal}, job.UserEvent,
			[]string{"a", "u", "e", "login", "0", "0", "0", "{}", "", "=9+9", ""},
			[]string{"a", "u", "e", "login", "1970-01-01 00:00:00", "1970-01-01 00:00:00", "1970-01-01 00:00:00", "", "'=9+9", "", "{}", "0", "0", "0"}},
		{"no code, no links", Form{Format: job.CSV, Share: link.Share{Origin: "https://go.example", Tenant: "t"}}, job.User,
			make([]string, 17), make([]string, 17)},
		{"no origin, no links", Form{Format: job.CSV}, job.User,
			[]string{16: "ANN"}, make([]string, 17)},
	} {
		if got := c.form.File(c.typ).Row(c.row); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
}

// People and programs read the same file: it has each date twice.
func TestFile_ForPeople(t *testing.T) {
	f := Form{Dates: job.DatesLocal}.File(job.UserEvent)
	const want = "user.accountId,user.id,event.id,event.key,event.dateTriggered (UTC),event.dateReceived (UTC),event.dateProcessed (UTC)," +
		"event.orderId,event.revenue,event.currency,event.fields,event.dateTriggered,event.dateReceived,event.dateProcessed"
	if got := strings.Join(f.Header(), ","); got != want || !f.ForPeople() {
		t.Errorf("%s\nwant %s", got, want)
	}
	types := []Cell{Text, Text, Text, Text, Date, Date, Date, Text, Number, Text, Text, Text, Text, Text}
	if got := f.Cells(); !slices.Equal(got, types) {
		t.Errorf("%v, want %v", got, types)
	}
}

func TestIsNumber(t *testing.T) {
	for s, want := range map[string]bool{
		"0": true, "-12.50": true, "123456789012345": true, "0.5": true,
		"": false, "-": false, "1.": false, ".5": false, "007": false, "1e5": false, "+1": false, "1234567890123456": false, "1,5": false, "١": false,
	} {
		if got := IsNumber(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestHarmless(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "Ann": "Ann", "a=b": "a=b", "'=1": "''=1", "'Ann": "'Ann",
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1", "＝1": "'＝1",
	} {
		if got := Harmless(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
		if got := Plain(want); got != s {
			t.Errorf("%q: Plain returns %q", s, got)
		}
	}
}

func TestHarmlessToPeople(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "Ann; Bo": "Ann; Bo", "=1": "'=1", "x;=1+1;y": "x;'=1+1;y", "a\t=1": "a\t'=1", ";-1\n@x": ";'-1\n'@x", "a;'=1": "a;''=1", "a;": "a;", "＝;＝": "'＝;'＝",
	} {
		if got := HarmlessToPeople(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestAuditRow(t *testing.T) {
	e := people.Entry{
		Seq: 7, At: 1772355600123, Actor: "ann@acme.example", From: "192.0.2.1", Action: operation.InviteMember.Action,
		Subject: "=1+1", After: `{"role":"viewer"}`, Account: "a", User: "u", InvitedBy: "API key crm",
	}
	want := []string{"7", "2026-03-01T09:00:00.123Z", "ann@acme.example", "192.0.2.1", "member.invited", "'=1+1", "", `{"role":"viewer"}`, "a", "u", "API key crm"}
	if got := AuditRow(e, nil); !slices.Equal(got, want) || len(got) != len(AuditHeader(nil)) {
		t.Errorf("%q", got)
	}
	zone := time.FixedZone("Europe/Berlin", 3600)
	if got, header := AuditRow(e, zone), AuditHeader(zone); got[1] != "2026-03-01 10:00:00" || header[1] != "time (Europe/Berlin)" || len(got) != len(header) {
		t.Errorf("%q", got)
	}
}
