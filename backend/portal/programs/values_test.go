package programs

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/referral"
	"kith/core/wire"
)

// samples are programs of the API that have all settings between them.
var samples = []string{
	`{"id":"a","sharing":{"url":"https://a.example/"}}`,
	`{"id":"b","name":"B <b>","sharing":{"url":"https://b.example/?x=1","allowedHosts":["c.example","d.example:8443"],"cookieExpiryDuration":"P1DT2H","utmSource":"newsletter","utmCampaign":"Spring & summer"},
		"conversion":{"event":"purchase","reversalEvent":"return","conditions":["revenue >= 50","plan in (pro, \"a, b\")"],"withinDuration":"PT90M","beforeDuration":"PT5M","firstEvent":true},
		"rewards":{"referrer":{"type":"CREDIT","percentOfRevenue":15,"minimum":100,"maximum":4000,"currency":"EUR","name":"Thanks","description":"For you","expiryDuration":"P365D","scheduleDuration":"P14D",
			"orders":3,"months":12,"tiers":[{"from":2,"percentOfRevenue":17.5},{"from":5,"percentOfRevenue":20}]},
			"referred":{"type":"PCT_DISCOUNT","discountPercent":12.25,"orders":null,"tiers":[{"from":3,"discountPercent":20}]}},
		"limits":{"rewards":10,"rewardsInPeriod":3,"period":"P7D","discountPercent":50.5},
		"fraud":{"handling":"PENDING","signals":{"mutualReferral":"NONE","ip":"DENY","name":"NONE","email":"PENDING","tempEmail":"DENY","rate":"DENY","dailyReferralRewardLimit":"DENY"},"dailyRewardLimit":5},
		"invitations":{"de":{"subject":"Hallo","message":"Zwei\nZeilen {reward}"},"pt-BR":{"subject":"Oi","message":"Veja"}}}`,
	`{"id":"c","sharing":{"url":"https://a.example/"},"rewards":{"referrer":{"type":"CREDIT","credit":1050,"currency":"USD","tiers":[{"from":2,"credit":1105}]},
		"referred":{"type":"FUELTANK","fuelTankType":"PCT_DISCOUNT","amount":20},"moneyBackDuration":"P14D"}}`,
	`{"id":"d","sharing":{"url":"https://a.example/"},"rewards":{"referrer":{"type":"CREDIT","credit":1500,"currency":"JPY","tiers":[{"from":2,"credit":2000}]},
		"referred":{"type":"FUELTANK","fuelTankType":"CREDIT","amount":1234,"currency":"KWD"}}}`,
	`{"id":"e","sharing":{"url":"https://a.example/"},"rewards":{"referrer":{"type":"CREDIT","credit":5,"unit":"POINT","tiers":[{"from":2,"credit":7}]},
		"referred":{"type":"INTEGRATION","valueInCents":2500,"currency":"USD","integrationSettings":{"giftCard":"<A & B>","n":1.50},"tiers":[{"from":4,"valueInCents":3000}]}}}`,
	`{"id":"f","sharing":{"url":"https://a.example/"},"conversion":{"event":"order"},"rewards":{"referrer":{"type":"INTEGRATION","percentOfRevenue":0.05,"currency":"USD","integrationSettings":{"a":[]}},
		"referred":{"type":"FUELTANK","fuelTankType":"CREDIT","amount":3,"unit":"MONTH","orders":null}}}`,
	`{"id":"g","sharing":{"url":"https://a.example/"},"rewards":{"referrer":{"type":"CREDIT","credit":999,"unit":"CASH/EUR","tiers":[{"from":2,"credit":1001}]},"referred":null}}`,
}

// A program that is shown in the form and sent back unchanged is the same program.
func TestForm_SendsBackWhatItShows(t *testing.T) {
	for _, sample := range samples {
		p, err := wire.ParseProgram("", []byte(sample))
		require.NoError(t, err, sample)
		p.Modified = 7
		back, arranged, err := read(p.Key, valuesOf(p))
		require.NoError(t, err, sample)
		back.Modified = 7
		require.Equal(t, string(wire.Program(p)), string(wire.Program(back)))
		require.Equal(t, valuesOf(p), arranged)
	}
}

// The form has a field for each setting of a program in the OpenAPI document.
func TestForm_HasAllSettings(t *testing.T) {
	found := map[string]bool{}
	for _, sample := range samples {
		p, err := wire.ParseProgram("", []byte(sample))
		require.NoError(t, err)
		collect(found, "", wire.Program(p))
	}
	page, err := files.ReadFile("page/edit.html")
	require.NoError(t, err)
	parts, err := files.ReadFile("page/parts.html")
	require.NoError(t, err)
	shown := string(page) + string(parts)
	document, err := os.ReadFile("../../api/openapi/openapi.yaml")
	require.NoError(t, err)
	for _, of := range []struct{ schema, at string }{
		{"ProgramInput", ""}, {"ProgramRewardsInput", "rewards."}, {"OfferInput", "rewards.referrer."}, {"RewardTier", "rewards.referrer.tiers."},
		{"FraudSignalHandlings", "fraud.signals."},
	} {
		names := settingsOf(t, string(document), of.schema)
		require.NotEmpty(t, names, of.schema)
		for _, name := range names {
			if name == "dateCreated" || name == "dateModified" {
				continue // they are sent back and ignored
			}
			other := strings.Replace(of.at, "referrer", "referred", 1) + name
			require.True(t, found[of.at+name] || found[of.at+name+"."] || found[other], "no sample has %s%s", of.at, name)
		}
	}
	ranged := map[string]bool{}
	for _, s := range referral.Settings() {
		require.True(t, found[s.Path] || found[s.Path+"."], "no sample has %s", s.Path)
		ranged[s.Path] = !s.Basic && strings.Contains(shown, `range .Data.Settings "`+s.Object()+`"`)
	}
	for name := range found {
		if ranged[name] || strings.HasSuffix(name, ".") || found[name+"."] || name == "dateCreated" || name == "dateModified" {
			continue
		}
		field := regexp.MustCompile(`^rewards\.(referrer|referred)\.`).ReplaceAllString(name, "")
		switch {
		case strings.HasPrefix(field, "tiers"):
			field = "Tier . "
		case strings.HasPrefix(name, "invitations."):
			require.Contains(t, shown, `invitation . "`+name[strings.LastIndex(name, ".")+1:]+`"`)
			continue
		case strings.HasPrefix(name, "fraud.signals."):
			field = "(signal .)"
		case field != name:
			_, ok := fieldAt(name)
			require.True(t, ok, name)
			field = `.Field "` + field + `"`
		default:
			_, ok := fieldAt(name)
			require.True(t, ok, name)
			field = `"` + field + `"`
		}
		require.Contains(t, shown, field, name)
	}
}

// collect adds the paths of the values of a JSON object. Those of objects and lists of
// objects end in a point.
func collect(found map[string]bool, at string, text []byte) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		var list []json.RawMessage
		if json.Unmarshal(text, &list) == nil {
			for _, item := range list {
				collect(found, at, item)
			}
		}
		return
	}
	for name, value := range fields {
		switch {
		case name == "integrationSettings":
			found[at+name] = true
		case value[0] == '{' || strings.HasPrefix(string(value), "[{"):
			found[at+name+"."] = true
			collect(found, at+name+".", value)
		default:
			found[at+name] = true
		}
	}
}

// settingsOf returns the names of the properties of a schema of the OpenAPI document.
func settingsOf(t *testing.T, document, schema string) (names []string) {
	t.Helper()
	_, rest, ok := strings.Cut(document, "\n    "+schema+":\n")
	require.True(t, ok, schema)
	if end := regexp.MustCompile(`\n    [A-Z]`).FindStringIndex(rest); end != nil {
		rest = rest[:end[0]]
	}
	_, rest, ok = strings.Cut("\n"+rest, "\n      properties:\n")
	require.True(t, ok, schema)
	for line := range strings.SplitSeq(rest, "\n") {
		if found := regexp.MustCompile(`^        ([A-Za-z]+):`).FindStringSubmatch(line); found != nil {
			names = append(names, found[1])
		} else if !strings.HasPrefix(line, "        ") {
			break
		}
	}
	return names
}

// entered returns the values of a complete form with changes: pairs of a field and a value.
func entered(changes ...string) url.Values {
	p, _ := wire.ParseProgram("", []byte(samples[1]))
	v := valuesOf(p)
	for i := 0; i < len(changes); i += 2 {
		v.Set(changes[i], changes[i+1])
	}
	return v
}

// Each wrong value is an error at its field, in words of the form.
func TestForm_ErrorsAreAtTheirFields(t *testing.T) {
	const referrer, referred = "rewards.referrer.", "rewards.referred."
	for _, c := range []struct {
		changes []string
		field   string
		want    string
	}{
		{[]string{"name", " "}, "name", "Name must not be empty; people see it in invitations."},
		{[]string{"sharing.url", "shop"}, "sharing.url", "Landing page must be an address that begins with https:// or http://."},
		{[]string{"sharing.allowedHosts", "a.example\nhttps://b.example"}, "sharing.allowedHosts", "Other hosts line 2 must be a host such as shop.example or shop.example:8443."},
		{[]string{"sharing.cookieExpiryDuration", "401", "sharing.cookieExpiryDuration.unit", "days"}, "sharing.cookieExpiryDuration", "Attribution window must be 1 second to 400 days."},
		{[]string{"sharing.cookieExpiryDuration", "1.5"}, "sharing.cookieExpiryDuration", "Attribution window must be a whole number such as 30, without a sign or separators."},
		{[]string{"sharing.cookieExpiryDuration.unit", "years"}, "sharing.cookieExpiryDuration", "Attribution window must be in days, hours, minutes or seconds."},
		{[]string{"conversion", ""}, "conversion", "When a referral counts must be chosen: it is what a referral has to lead to."},
		{[]string{"conversion", "paid", referrer + "orders.which", "first"}, referrer + "percentOfRevenue", "Referrer: Share of the order in percent needs an order: choose “When the friend orders” under “When a referral counts”, or give a fixed amount."},
		{[]string{"conversion.event", ""}, "conversion.event", "Event must not be empty; give the key that your shop sends, such as purchase."},
		{[]string{"conversion.conditions", "\nrevenue >= 50\nrevenue > much"}, "conversion.conditions", "Conditions line 2 must compare with a number: > is for numbers, as in revenue > 50."},
		{[]string{"conversion.reversalEvent", "purchase"}, "conversion.reversalEvent", "Event of a refund must differ from the event that converts; if it is empty, it is refund."},
		{[]string{referrer + "type", ""}, referrer + "type", "Referrer: Reward must be chosen; there may be none."},
		{[]string{referrer + "type", "MONEY"}, referrer + "type", "Referrer: Reward must be one of PCT_DISCOUNT, CREDIT, FUELTANK, INTEGRATION."},
		{[]string{referrer + "percentOfRevenue", "101"}, referrer + "percentOfRevenue", "Referrer: Share of the order in percent must be a percentage from 0 to 100 with at most two decimals, such as 15 or 12.5."},
		{[]string{referrer + "percentOfRevenue", "0"}, referrer + "percentOfRevenue", "Referrer: Share of the order in percent must be more than 0 and at most 100."},
		{[]string{referrer + "maximum", "4,000"}, referrer + "maximum", "Referrer: At most must be an amount such as 10.00, without a currency or separators of thousands."},
		{[]string{referrer + "maximum", "0.50"}, referrer + "maximum", "Referrer: At most must not be less than the minimum, or be empty."},
		{[]string{referrer + "type", "CREDIT", referrer + "credit", ""}, referrer + "credit", "Referrer: Credit must not be empty."},
		{[]string{referrer + "type", "CREDIT", referrer + "credit", "10.505"}, referrer + "credit", "Referrer: Credit must be an amount such as 10.00: amounts in EUR have 2 decimals."},
		{[]string{referrer + "currency", "euro"}, referrer + "currency", "Referrer: Currency must be a currency code of ISO 4217, such as EUR."},
		{[]string{referrer + "orders.which", "some", referrer + "orders", ""}, referrer + "orders", "Referrer: Number of orders must not be empty, or choose each order."},
		{[]string{referrer + "orders.which", "some", referrer + "orders", "-1"}, referrer + "orders", "Referrer: Number of orders must be a whole number such as 10, without a sign or separators."},
		{[]string{referrer + "tiers[1].from", "2"}, referrer + "tiers[1].from", "Referrer: From conversion must be 2 to 1000 and more than in the step before."},
		{[]string{referrer + "tiers[1].value", ""}, referrer + "tiers[1].value", "Referrer: Value must not be empty; clear both fields to remove the step."},
		{[]string{referrer + "tiers[0].from", "", referrer + "tiers[0].value", "", referrer + "tiers[1].value", "0"}, referrer + "tiers[0].value", "Referrer: Value must be more than 0 and at most 100."},
		{[]string{referred + "type", "FUELTANK", referred + "fuelTankType", "PCT_DISCOUNT", referred + "amount", "12.5"}, referred + "amount", "Friend: Worth of a code must be a whole number."},
		{[]string{referred + "type", "INTEGRATION", referred + "valueInCents", "5", referred + "integrationSettings", "x"}, referred + "integrationSettings", `Friend: Settings of the delivery must be a JSON object such as {"giftCard": "A1"}.`},
		{[]string{"limits.period", ""}, "limits.period", "Period must be given together with “Rewards in a period”: both or neither."},
		{[]string{"limits.rewards", "many"}, "limits.rewards", "Rewards in total must be a whole number such as 10, without a sign or separators."},
		{[]string{"limits.rewards", "99999999999999999999"}, "limits.rewards", "Rewards in total must be 1 to 1,000,000."},
		{[]string{"limits.period", "3651"}, "limits.period", "Period must be 1 to 3650 days, or be empty."},
		{[]string{"limits.rewardsInPeriod", "1001"}, "limits.rewardsInPeriod", "Rewards in a period must be at most 1000 if an event converts."},
		{[]string{"fraud.dailyRewardLimit", "1000001"}, "fraud.dailyRewardLimit", "Daily limit must be 1 to 1,000,000."},
		{[]string{"sharing.allowedHosts", strings.Repeat("a.example\n", 51)}, "sharing.allowedHosts", "Other hosts must not have more than 50 lines."},
		{[]string{"conversion.conditions", strings.Repeat("revenue > 5\n", 21)}, "conversion.conditions", "Conditions must not have more than 20 lines."},
		{[]string{"conversion.withinDuration", "3651", "conversion.withinDuration.unit", "days"}, "conversion.withinDuration", "Time limit must be 1 second to 3650 days, or be empty."},
		{[]string{"conversion.beforeDuration", "2", "conversion.beforeDuration.unit", "days"}, "conversion.beforeDuration", "Order before the referral must be 0 to 1 day, or be empty."},
		{[]string{referrer + "expiryDuration", "3651", referrer + "expiryDuration.unit", "days"}, referrer + "expiryDuration", "Referrer: Validity must be 1 second to 3650 days, or be empty."},
		{[]string{referrer + "months", "121"}, referrer + "months", "Referrer: Months must be 1 to 120, or be empty."},
		{[]string{referrer + "orders.which", "some", referrer + "orders", "1000001"}, referrer + "orders", "Referrer: Number of orders must be 1 to 1,000,000."},
		{[]string{"limits.period", "99999999999"}, "limits.period", "Period must not be longer than 36500 days."},
		{[]string{referrer + "maximum", "-5"}, referrer + "maximum", "Referrer: At most must not be negative; give an amount such as 10.00."},
		{[]string{"fraud.handling", "SHRUG"}, "fraud.handling", "A sign of fraud must be one of NONE, PENDING, DENY."},
		{[]string{"fraud.signals.ip", "SHRUG"}, "fraud.signals.ip", "The same IP address of referrer and friend must be one of NONE, PENDING, DENY."},
		{[]string{"invitations.de.subject", ""}, "invitations.de.subject", "German: Subject must not be empty; leave out the language to use the default."},
		{[]string{"invitations.de.message", "{price}"}, "invitations.de.message", "German: Message may contain {shop}, {program} and {reward}, and no other text in braces."},
		{[]string{"invitation.tag", "dutch", "invitation.subject", "s", "invitation.message", "m"}, "invitation.tag", "Language must be a language such as nl or pt-BR that has no texts above."},
		{[]string{"invitation.tag", "nl"}, "invitation.subject", "Subject must be given with a message for the new language; or leave the language out."},
		{[]string{"invitation.tag", "de", "invitation.subject", "s", "invitation.message", "m"}, "invitation.tag", "Language must be a language such as nl or pt-BR that has no texts above."},
	} {
		_, arranged, err := read("b", entered(c.changes...))
		require.Error(t, err, c.changes)
		f := frame.FormOf(arranged)
		require.True(t, f.Refuse(err, labelsOf(err)), "%q: %v", c.changes, err)
		require.Equal(t, []frame.FormProblem{{Field: c.field, Message: c.want}}, f.Errors, "%q", c.changes)
	}
	for name, zero := range map[string]string{
		"limits.rewards": "0", "limits.rewardsInPeriod": "00", "limits.period": "0", "limits.discountPercent": "0 %", "fraud.dailyRewardLimit": "0",
		"conversion.withinDuration": "0", referrer + "maximum": "0,00", referrer + "months": "0", referrer + "expiryDuration": "0",
	} {
		_, _, err := read("b", entered(name, zero))
		require.EqualError(t, err, name+": must be more than 0; leave it empty for no limit")
	}
	// All of them at once.
	_, _, err := read("b", entered("name", "", referrer+"maximum", "x", "limits.rewards", "y"))
	require.Len(t, frame.Split(err), 3)
}

// A new language is moved to the others, and empty steps are closed up.
func TestForm_Arranges(t *testing.T) {
	p, v, err := read("b", entered("invitation.tag", "nl", "invitation.subject", "Hoi", "invitation.message", "Kijk\r\neens", "rewards.referrer.tiers[0].from", "", "rewards.referrer.tiers[0].value", " "))
	require.NoError(t, err)
	require.Equal(t, "Kijk\neens", p.Invitations["nl"].Message)
	require.Contains(t, languagesOf(v), "nl")
	require.Len(t, p.ReferrerTerms.Tiers, 1)
	require.Equal(t, "5", v.Get("rewards.referrer.tiers[0].from"))
}

func TestKeyOf(t *testing.T) {
	for name, want := range map[string]string{"Refer a friend": "refer-a-friend", "  Größe & Co. 2 ": "groesse-co-2", "Parrainez un\u00a0e\u0301lève": "parrainez-un-eleve", "Łódź": "lodz", "友達": "", strings.Repeat("a", 50): strings.Repeat("a", 40)} {
		require.Equal(t, want, keyOf(name))
	}
}

func TestParseCodes(t *testing.T) {
	all, err := parseCodes("codes", "A-1\r\n\n \"B-2\",10 EUR\nC-3\n")
	require.NoError(t, err)
	require.Equal(t, []string{"A-1", "B-2", "C-3"}, all)
	for text, want := range map[string]string{
		"A\nB C\nD":                 `codes: line 2 must be 1 to 200 bytes without blanks: "B C". No code was added`,
		" \n":                       "codes: enter at least one, or choose a file",
		strings.Repeat("A\n", 1001): "codes: 1001 are more than 1000; upload them in several parts",
	} {
		_, err := parseCodes("codes", text)
		require.EqualError(t, err, want)
	}
	_, err = parseCodes("codes", strings.Repeat("a b\n", 12))
	var refused *core.Error
	require.True(t, errors.As(err, &refused))
	require.Equal(t, 10, strings.Count(refused.Message, "line "))
	require.Contains(t, refused.Message, "2 more lines are wrong")
}

// Each change of a program is shown with the label of its field.
func TestChangesOf(t *testing.T) {
	parse := func(i int) []frame.Change {
		was, err := wire.ParseProgram("", []byte(samples[i]))
		require.NoError(t, err)
		is, err := wire.ParseProgram("", []byte(samples[1]))
		require.NoError(t, err)
		return changesOf(valuesOf(was), valuesOf(is))
	}
	require.Empty(t, parse(1))
	all := parse(0)
	require.True(t, slices.Contains(all, frame.Change{Label: "Attribution window", Was: "30 days", Is: "26 hours"}), all)
	require.True(t, slices.Contains(all, frame.Change{Label: "Referrer: Share of the order in percent", Was: "", Is: "15"}), all)
	require.True(t, slices.Contains(all, frame.Change{Label: "Referrer: Reward", Was: "No reward", Is: "A share of the order"}), all)
	require.True(t, slices.Contains(all, frame.Change{Label: "When a referral counts", Was: "When the friend's account becomes a paying customer", Is: "When the friend orders"}), all)
	require.True(t, slices.Contains(all, frame.Change{Label: "The same IP address of referrer and friend", Was: "", Is: "cancels the rewards"}), all)
	require.True(t, slices.Contains(all, frame.Change{Label: "New customers only", Was: "", Is: "yes"}), all)
	for _, c := range all {
		require.NotEmpty(t, c.Label)
	}
}
