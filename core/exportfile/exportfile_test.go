package exportfile

import (
	"slices"
	"strings"
	"testing"

	"kith/core/job"
	"kith/core/link"
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
		if got := strings.Join(Header(typ), ","); got != want {
			t.Errorf("%s: %s\nwant %s", typ, got, want)
		}
	}
}

func TestHeader_EveryExportHasDistinctColumns(t *testing.T) {
	for _, typ := range job.Types() {
		if typ.Import() {
			continue
		}
		names := Header(typ)
		slices.Sort(names)
		if len(names) == 0 || len(slices.Compact(names)) != len(Header(typ)) {
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
		{"hash and links", Form{Format: job.CSV, Share: link.Share{Origin: "https://go.example", Tenant: "t"}}, job.User,
			[]string{"u", "a", "A@b.c ", "", "", "", "", "", "1", "A@b.c ", "", "", "ANN", "ANN", "ANN", "ANN", "ANN"},
			[]string{"u", "a", "A@b.c ", "", "", "", "", "", "1", "5d60d4e28066df254d5452f92c910092", "", "", "https://go.example/s/t/ANN",
				"https://go.example/s/t/ANN?rsShareMedium=FACEBOOK", "https://go.example/s/t/ANN?rsShareMedium=TWITTER",
				"https://go.example/s/t/ANN?rsShareMedium=EMAIL", "https://go.example/s/t/ANN?rsShareMedium=LINKEDIN"}},
		{"no code, no links", Form{Format: job.CSV, Share: link.Share{Origin: "https://go.example", Tenant: "t"}}, job.User,
			make([]string, 17), make([]string, 17)},
		{"no origin, no links", Form{Format: job.CSV}, job.User,
			[]string{16: "ANN"}, make([]string, 17)},
	} {
		if got := c.form.Row(c.typ, c.row); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%q\nwant\n%q", c.name, got, c.want)
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

func TestAuditRow(t *testing.T) {
	e := people.Entry{
		Seq: 7, At: 1772355600123, Actor: "ann@acme.example", From: "192.0.2.1", Action: people.MemberInvited,
		Subject: "=1+1", After: `{"role":"viewer"}`, Account: "a", User: "u", InvitedBy: "API key crm",
	}
	want := []string{"7", "2026-03-01T09:00:00.123Z", "ann@acme.example", "192.0.2.1", "member.invited", "'=1+1", "", `{"role":"viewer"}`, "a", "u", "API key crm"}
	if got := AuditRow(e); !slices.Equal(got, want) || len(got) != len(AuditHeader()) {
		t.Errorf("%q", got)
	}
}
