package wire

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"kith/core/referral"
	"kith/core/reward"
	"kith/core/widget"
)

// awkwardText has characters that could end a string, a script or a comment.
const awkwardText = "</script><!--<script>\u2028\u2029\"'\\&]]> \x7f\U0001f600{{x}}${y}"

func awkwardWidget() WidgetInfo {
	return WidgetInfo{
		Earned: widget.Earned{
			Codes:   []widget.Code{{Code: awkwardText, Offer: reward.Offer{Kind: reward.FuelTank, Name: awkwardText, Amount: 1}, Expires: 5}},
			Pending: []widget.Pending{{Offer: reward.Offer{Kind: reward.Credit, Amount: 1, Unit: awkwardText}, Reason: widget.Scheduled, Date: 7}},
		},
		Tenant: "acme", Base: awkwardText, Type: widget.Type{Program: "classic", Key: widget.Referrer},
		EngagementMedium: awkwardText, Locale: awkwardText, Token: awkwardText,
		Program: referral.Program{Name: awkwardText, Referred: reward.Offer{Kind: reward.Credit, Amount: 1, Name: awkwardText, Currency: awkwardText}},
		User:    &referral.User{Account: awkwardText, ID: awkwardText, FirstName: awkwardText}, Code: "ANN",
		Links:   []WidgetLink{{URL: awkwardText}, {Medium: awkwardText, URL: awkwardText}},
		Private: true, Referrals: []WidgetReferral{{FirstName: awkwardText, LastName: awkwardText, Started: 1}}, ReferralCount: 1,
		ReferrerFirstName: awkwardText,
		Values:            "{\"</script>\":\"<!--\u2028\"}",
	}
}

// scriptData returns the values that the script assigns. It fails unless the script
// is two assignments of JSON.
func scriptData(t *testing.T, script string) (ident, data gjson.Result) {
	t.Helper()
	if i := strings.IndexAny(script, "<\u2028\u2029"); i >= 0 {
		t.Errorf("not escaped: %q", script[i:])
	}
	rest, ok := strings.CutPrefix(script, "window.widgetIdent=")
	first, second, ok2 := strings.Cut(rest, ";window.kith=")
	second, ok3 := strings.CutSuffix(second, ";")
	if !ok || !ok2 || !ok3 || !gjson.Valid(first) || !gjson.Valid(second) {
		t.Fatalf("not two assignments: %s", script)
	}
	return gjson.Parse(first), gjson.Parse(second)
}

func TestWidgetScript_TextCannotEndIt(t *testing.T) {
	ident, data := scriptData(t, WidgetScript(awkwardWidget()))
	for _, text := range []gjson.Result{
		ident.Get("appDomain"), ident.Get("token"), ident.Get("userId"), ident.Get("accountId"), ident.Get("engagementMedium"), ident.Get("locale"),
		data.Get("program.name"), data.Get("program.referred.name"), data.Get("program.referred.currency"), data.Get("user.firstName"), data.Get("user.shareLink"),
	} {
		if text.String() != awkwardText {
			t.Errorf("%q", text.String())
		}
	}
	if name := data.Get("referrals.0.name").String(); name != awkwardText+" <" {
		t.Errorf("referral of %q", name)
	}
	if by := data.Get("referredBy.name").String(); by != strings.TrimSpace(awkwardText) {
		t.Errorf("referred by %q", by)
	}
	if values := data.Get("values").Map(); values["</script>"].String() != "<!--\u2028" {
		t.Errorf("values %v", values)
	}
}

// Other callers than the user get no names and no referrals.
func TestWidgetScript_PublicPart(t *testing.T) {
	x := awkwardWidget()
	x.Private = false
	ident, data := scriptData(t, WidgetScript(x))
	if data.Get("referrals").Type != gjson.Null || data.Get("referralCount").Exists() || data.Get("referredBy").Exists() || data.Get("user.firstName").Exists() {
		t.Errorf("public: %s", data.Raw)
	}
	if data.Get("user.referralCode").String() != "ANN" || ident.Get("userId").String() != awkwardText {
		t.Errorf("public: %s %s", ident.Raw, data.Raw)
	}
	x.User = nil
	ident, data = scriptData(t, WidgetScript(x))
	if data.Get("user").Type != gjson.Null || ident.Get("userId").String() != "" || ident.Get("accountId").String() != "" {
		t.Errorf("no user: %s %s", ident.Raw, data.Raw)
	}
}

// Settings for the service that delivers a reward are not in the script.
func TestWidgetScript_OfferIsPublic(t *testing.T) {
	x := WidgetInfo{Program: referral.Program{
		Referred: reward.Offer{Kind: reward.Integration, Amount: 500, Settings: `{"secret":"s"}`},
		Referrer: reward.Offer{Kind: reward.PercentDiscount, Percent: 1250},
	}}
	script := WidgetScript(x)
	if strings.Contains(script, "secret") {
		t.Error(script)
	}
	_, data := scriptData(t, script)
	if data.Get("program.referrer.discountPercent").Num != 12.5 || data.Get("program.referred.amount").Num != 500 {
		t.Error(data.Raw)
	}
}
