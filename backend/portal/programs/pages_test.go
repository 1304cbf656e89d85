package programs_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/portal/portaltest"
	"kith/backend/store/sqldtest"
	"kith/core"
	"kith/core/conversion"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/text"
)

func TestMain(m *testing.M) { sqldtest.Main(m) }

const section = "/portal/t/acme/programs"

// newForm returns the answers to the questions of a new program, with changes.
func newForm(changes ...string) []string {
	form := []string{
		"name", "Spring sale", "id", "", "sharing.url", "https://acme.example/spring", "conversion", "event", "conversion.event", "purchase",
		"rewards.referrer.type", "CREDIT-share", "rewards.referrer.percentOfRevenue", "15 %", "rewards.referrer.maximum", "40.00", "rewards.referrer.currency", "eur",
		"rewards.referred.type", "PCT_DISCOUNT", "rewards.referred.discountPercent", "10",
	}
	return append(form, changes...)
}

// formIn returns the values of the form of a program in a page, as a browser sends them.
func formIn(t *testing.T, page string) url.Values {
	t.Helper()
	_, page, ok := strings.Cut(page, `id="program"`)
	require.True(t, ok)
	page, _, _ = strings.Cut(page, "</form>")
	v := url.Values{}
	attribute := func(tag, name string) string {
		found := regexp.MustCompile(` ` + name + `="([^"]*)"`).FindStringSubmatch(tag)
		if found == nil {
			return ""
		}
		return strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">", "&#43;", "+", "&amp;", "&").Replace(found[1])
	}
	for _, tag := range regexp.MustCompile(`<input[^>]*>`).FindAllString(page, -1) {
		kind := attribute(tag, "type")
		if (kind == "radio" || kind == "checkbox") && !strings.Contains(tag, " checked") {
			continue
		}
		v.Add(attribute(tag, "name"), attribute(tag, "value"))
	}
	for _, found := range regexp.MustCompile(`(?s)<textarea[^>]* name="([^"]*)"[^>]*>(.*?)</textarea>`).FindAllStringSubmatch(page, -1) {
		v.Add(found[1], strings.NewReplacer("&#34;", `"`, "&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(found[2]))
	}
	for _, found := range regexp.MustCompile(`(?s)<select[^>]* name="([^"]*)"[^>]*>(.*?)</select>`).FindAllStringSubmatch(page, -1) {
		options := regexp.MustCompile(`<option([^>]*)>([^<]*)`).FindAllStringSubmatch(found[2], -1)
		chosen := options[0]
		for _, o := range options {
			if strings.Contains(o[1], " selected") {
				chosen = o
			}
		}
		value := chosen[2]
		if strings.Contains(chosen[1], "value=") {
			value = attribute(chosen[1], "value")
		}
		v.Add(found[1], value)
	}
	return v
}

// A person creates a program by a few answers, and then changes the reward to 15 % of the
// order; both are in the audit log and in the history.
func TestProgram_FromNothing(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	got := b.Get(section + "/_new")
	require.Equal(t, http.StatusOK, got.Status)
	got = b.Post(t, section+"/_new", section+"/_new", newForm("rewards.referrer.percentOfRevenue", "10")...)
	require.Equal(t, section+"/spring-sale?done=program-created", got.Header.Get("Location"), got.Body)
	page := b.Get(section + "/spring-sale?done=program-created").Body
	require.Contains(t, page, "The program is created")
	require.Contains(t, page, "The referrer gets 10% of the order as credit, at most €40.00.")

	w.Pass(core.Minute)
	form := formIn(t, page)
	form.Set("rewards.referrer.percentOfRevenue", "15")
	got = b.Send("POST", section+"/spring-sale", form)
	require.Equal(t, section+"/spring-sale?done=program-saved", got.Header.Get("Location"), got.Body)
	p, err := w.Engine.Programs.ByKey(t.Context(), "acme", "spring-sale")
	require.NoError(t, err)
	require.Equal(t, reward.Offer{Kind: reward.Credit, OfRevenue: 1500, Currency: "EUR"}, p.Referrer)
	require.Equal(t, conversion.Terms{Max: 4000, Orders: 1}, p.ReferrerTerms)

	history := b.Get(section + "/spring-sale/history").Body
	require.Regexp(t, `Referrer: Share of the order in percent</td><td[^>]*><del>10</del></td><td[^>]*><ins>15</ins>`, history)
	require.NotContains(t, history, "Money-back window</td>")
	require.Equal(t, 2, strings.Count(history, "owner<wbr>@acme.example"))
	entries := w.Audit(t, people.AuditFilter{Subject: "spring-sale"})
	require.Len(t, entries, 2)
	require.Equal(t, operation.ChangeProgram.Action, entries[0].Action)
	require.Contains(t, entries[0].After, `"percentOfRevenue":15`)
	require.Contains(t, b.Get(section).Body, "The referrer gets 15% of the order as credit and the friend gets 10% off for the event “purchase” of the friend.")
}

// A program that converts by an order after the form was changed gives one reward, for the
// first order, unless the person chooses otherwise.
func TestProgram_FromPaymentsToOrders(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	p := referral.NewProgram("plan")
	p.LandingURL, p.Referrer = "https://acme.example/", reward.Offer{Kind: reward.Credit, Amount: 1000, Currency: "USD"}
	_, err := w.Engine.Programs.Create(t.Context(), "acme", p)
	require.NoError(t, err)
	form := formIn(t, b.Get(section+"/plan").Body)
	form.Set("conversion", "event")
	form.Set("conversion.event", "purchase")
	got := b.Send("POST", section+"/plan", form)
	require.Equal(t, section+"/plan?done=program-saved", got.Header.Get("Location"), got.Body)
	p, err = w.Engine.Programs.ByKey(t.Context(), "acme", "plan")
	require.NoError(t, err)
	require.Equal(t, conversion.Terms{Orders: 1}, p.ReferrerTerms)
}

// The form that a browser sends back unchanged changes nothing, whatever the program has.
func TestProgram_UnchangedFormChangesNothing(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	p := referral.NewProgram("full")
	p.Name, p.LandingURL, p.AllowedHosts, p.CookieLife = `<b>"'&`, "https://acme.example/?a=1&b=2", []string{"a.example", "b.example"}, 90*core.Minute
	condition, err := conversion.ParseCondition("", `plan in ("a, b", "<c>")`)
	require.NoError(t, err)
	p.Conversion = conversion.Rule{Event: "purchase", Reversal: "refund", Conditions: []conversion.Condition{condition}, Within: 26 * core.Hour, FirstEvent: true}
	p.Referrer = reward.Offer{Kind: reward.Integration, OfRevenue: 1250, Currency: "EUR", Settings: `{"a":"<&>"}`, Name: "N", Description: "D", ValidFor: core.Day, GivenAfter: core.Minute}
	p.ReferrerTerms = conversion.Terms{Min: 100, Max: 5000, Orders: 3, Months: 2, Tiers: []conversion.Tier{{From: 2, OfRevenue: 1500}}}
	p.Referred = reward.Offer{Kind: reward.FuelTank, Amount: 1050, Currency: "EUR"}
	p.Limits = referral.Limits{Total: 9, InPeriod: 2, Period: 7 * core.Day, Discount: 5050}
	p.Fraud = referral.FraudPolicy{Handling: referral.HandlePending, BySignal: map[referral.Signal]referral.Handling{referral.SignalIP: referral.HandleDeny, referral.SignalName: referral.HandleNone}, DailyRewards: 4}
	p.Invitations = map[text.Tag]text.Invitation{"ar": {Subject: "مرحبا", Message: "a\nb"}, "nl": {Subject: "s", Message: "</textarea>"}}
	before, err := w.Engine.Programs.Create(t.Context(), "acme", p)
	require.NoError(t, err)
	got := b.Send("POST", section+"/full", formIn(t, b.Get(section+"/full").Body))
	require.Equal(t, section+"/full?done=program-saved", got.Header.Get("Location"), got.Body)
	after, err := w.Engine.Programs.ByKey(t.Context(), "acme", "full")
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// What is wrong is said at the field, and what was entered stays.
func TestProgram_Errors(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	got := b.Post(t, section+"/_new", section+"/_new", newForm("name", "", "conversion", "paid", "sharing.url", `"><b>`)...)
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Body, `<a href="#f-name">Name must not be empty; people see it in invitations.</a>`)
	require.Contains(t, got.Body, `value="&#34;&gt;&lt;b&gt;"`)
	require.Contains(t, got.Body, `<title>Error: `)
	got = b.Post(t, section+"/_new", section+"/_new", newForm("conversion", "paid")...)
	require.Contains(t, got.Body, `needs an order: choose “When the friend orders”`)
	got = b.Post(t, section+"/_new", section+"/_new", newForm("id", "classic")...)
	require.Contains(t, got.Body, `<a href="#f-id">Key belongs to another program already; give another one.</a>`)
	got = b.Post(t, section+"/_new", section+"/_new", newForm("name", "友達")...)
	require.Contains(t, got.Body, `<a href="#f-id">`, "the name gives no key")

	// Another person has saved in the meantime.
	form := formIn(t, b.Get(section+"/classic").Body)
	w.Pass(core.Minute)
	_, err := w.Engine.Programs.Update(t.Context(), "acme", "classic", func(p *referral.Program) error { p.Name = "Other"; return nil })
	require.NoError(t, err)
	form.Set("name", "Mine")
	got = b.Send("POST", section+"/classic", form)
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Body, "The program was changed on 14 Nov 2023, 22:14 UTC, after you opened this page")
	again := formIn(t, b.Get(section+"/classic").Body)
	again.Set("name", "Saved by the owner")
	w.Pass(core.Minute)
	require.Equal(t, http.StatusSeeOther, b.Send("POST", section+"/classic", again).Status)
	got = b.Send("POST", section+"/classic", form)
	require.Contains(t, got.Body, "The program was changed by owner@acme.example on 14 Nov 2023, 22:15 UTC")
	require.Contains(t, got.Body, `value="Mine"`)

	for _, path := range []string{"/nothing", "/a_b", "/nothing/try", "/nothing/history", "/nothing/widget", "/nothing/widget/frame", "/nothing/codes"} {
		require.Equal(t, http.StatusNotFound, b.Get(section+path).Status, path)
	}
}

// What a program would do is shown before it is saved: as a part for htmx, and as the whole
// form without scripts. Nothing is stored.
func TestProgram_Preview(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	form := formIn(t, b.Get(section+"/classic").Body)
	form.Set("rewards.referrer.credit", "12.50")
	got := b.Send("POST", section+"/classic/preview", form)
	require.Equal(t, http.StatusOK, got.Status)
	require.Contains(t, got.Body, "The referrer gets $12.50 credit.")
	require.Contains(t, got.Body, `value="12.50"`)
	b.Headers["Hx-Request"] = "true"
	got = b.Send("POST", section+"/classic/preview", form)
	require.Contains(t, got.Body, `<div id="does-text">`)
	require.NotContains(t, got.Body, `value="12.50"`)
	form.Set("rewards.referrer.credit", "x")
	got = b.Send("POST", section+"/classic/preview", form)
	require.Equal(t, http.StatusOK, got.Status, "htmx shows no other answers")
	require.Contains(t, got.Body, "Referrer: Credit must be an amount such as 10.00")
	got = b.Post(t, section+"/_new", section+"/_new/preview", newForm()...)
	require.Contains(t, got.Body, "The referrer gets 15% of the order as credit, at most €40.00.")
	all, err := w.Engine.Programs.List(t.Context(), "acme")
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, int64(1000), all[0].Referrer.Amount)
}

// Each page as each role: members read, managers and owners change.
func TestProgram_Roles(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	for _, role := range people.Roles() {
		b, may := w.As(t, role), operation.ChangeProgram.Permits(role)
		for _, path := range []string{"", "/classic", "/classic/try", "/classic/try?event=purchase", "/classic/history", "/classic/widget", "/classic/widget/frame", "/classic/codes"} {
			require.Equal(t, http.StatusOK, b.Get(section+path).Status, "%s %s", role, path)
		}
		page := b.Get(section + "/classic").Body
		require.Equal(t, may, strings.Contains(page, `id="program"`), role)
		require.Contains(t, page, "The referrer gets $10.00 credit.")
		require.Equal(t, may, strings.Contains(b.Get(section).Body, "New program"))
		require.Equal(t, map[bool]int{true: 200, false: 403}[may], b.Get(section+"/_new").Status, role)
		form := b.Post(t, section, section+"/_new", newForm("id", "by-"+string(role))...)
		require.Equal(t, map[bool]int{true: 303, false: 403}[may], form.Status, role)
		for _, path := range []string{"/classic", "/_new/preview"} {
			got := b.Post(t, section, section+path, "name", "")
			require.Equal(t, !may, got.Status == http.StatusForbidden, "%s %s %d", role, path, got.Status)
		}
	}
	require.Equal(t, http.StatusSeeOther, w.Browser().Get(section).Status)
	b := w.SignedIn(t, "support@acme.example")
	require.Equal(t, http.StatusForbidden, b.Post(t, section, section+"/by-owner/delete").Status)
	b.Headers["X-Csrf-Token"] = b.Get(section).Token(t)
	got := b.Send("POST", section+"/by-owner/codes/referrer", nil)
	require.Equal(t, http.StatusForbidden, got.Status)
	require.Contains(t, got.Body, "Your role is support, which does not permit to change programs")
}

// A program is deleted only while nothing uses it.
func TestProgram_Delete(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	got := b.Post(t, section+"/classic", section+"/classic/delete")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Body, "The last program of a tenant cannot be deleted; create another one first.")
	b.Post(t, section+"/_new", section+"/_new", newForm()...)
	got = b.Post(t, section+"/spring-sale", section+"/spring-sale/delete")
	require.Equal(t, section+"?done=program-deleted", got.Header.Get("Location"))
	require.Equal(t, http.StatusNotFound, b.Get(section+"/spring-sale").Status)
}

// The trial of an event is explained in steps, and its URL can be shared.
func TestProgram_Try(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	b.Post(t, section+"/_new", section+"/_new", newForm()...)
	try := section + "/spring-sale/try"
	require.Contains(t, b.Get(try).Body, `name="event" type="text" value="purchase"`)
	got := b.Get(try + "?event=purchase&revenue=80.00&currency=eur&days=1&fields=plan+%3D+pro").Body
	require.Contains(t, got, "This event converts the referral")
	require.Contains(t, got, "The referrer earns €12.00: 15% of €80.00.")
	require.Contains(t, b.Get(try+"?event=login").Body, "This event earns nothing")
	require.Contains(t, b.Get(try+"?event=purchase&revenue=10&orders=1").Body, "This order counts")
	for query, want := range map[string]string{
		"event=": "The event must not be empty", "event=purchase&revenue=a": "The amount must be a number such as 80.00", "event=p&fields=x": "line 1 has not",
		"event=p&days=-1": "must be a whole number such as 3", "event=p&orders=x": "The earlier orders must be a whole number", "event=p&accountId=" + strings.Repeat("a", 500): "The account ",
	} {
		got := b.Get(try + "?" + query)
		require.Equal(t, http.StatusUnprocessableEntity, got.Status, query)
		require.Contains(t, got.Body, want, query)
	}
	require.Contains(t, b.Get(try+"?event=p&accountId=unknown").Body, "The account unknown was not referred")
}

// The widget is shown in each language, in a frame that reaches nothing of the portal.
func TestProgram_Widget(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	for _, tag := range text.Languages {
		page := b.Get(section + "/classic/widget?language=" + string(tag) + "&theme=dark&kind=friend")
		require.Contains(t, page.Header.Get("Content-Security-Policy"), "; frame-src 'self'")
		source := regexp.MustCompile(`<iframe src="([^"]+)"[^>]* sandbox="allow-scripts">`).FindStringSubmatch(page.Body)
		require.NotNil(t, source, page.Body)
		framed := b.Get(strings.ReplaceAll(source[1], "&amp;", "&"))
		require.Equal(t, http.StatusOK, framed.Status)
		require.Contains(t, framed.Body, `"language":"`+string(tag)+`"`)
		require.Contains(t, framed.Body, `"theme":"dark"`)
		require.Contains(t, framed.Body, `"kind":"conversion"`)
		require.Contains(t, framed.Header.Get("Content-Security-Policy"), "sandbox allow-scripts; default-src 'none'")
		require.Contains(t, framed.Header.Get("Content-Security-Policy"), "frame-ancestors 'self'")
		require.Equal(t, "SAMEORIGIN", framed.Header.Get("X-Frame-Options"))
	}
	require.NotContains(t, b.Get(section+"/classic").Header.Get("Content-Security-Policy"), "frame-src")
	require.Contains(t, b.Get(section+"/classic/widget?language=xx").Body, `language=en`)
}

// Codes are added from the text area and from a file; wrong lines are named, and then none
// is added.
func TestProgram_Codes(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	path := section + "/classic/codes"
	require.Contains(t, b.Get(path).Body, "This program gives no coupon codes")
	_, err := w.Engine.Programs.Update(t.Context(), "acme", "classic", func(p *referral.Program) error {
		p.Referred = reward.Offer{Kind: reward.FuelTank, Amount: 1000, Currency: "USD"}
		return nil
	})
	require.NoError(t, err)
	page := b.Get(path)
	require.Contains(t, page.Body, "Codes for friends")
	require.Contains(t, page.Body, `<span class="tag bad">Empty</span>`)
	token := page.Token(t)
	send := func(parts ...portaltest.Part) portaltest.Answer {
		kind, body := portaltest.Multipart(t, parts...)
		return b.SendBody("POST", path+"/referred", kind, body)
	}
	csrf := portaltest.Part{Name: "csrf", Value: token}
	typed := func(codes string) portaltest.Part { return portaltest.Part{Name: "referred.codes", Value: codes} }
	inFile := func(codes string) portaltest.Part {
		return portaltest.Part{Name: "referred.file", File: "codes.csv", Value: codes}
	}
	require.Equal(t, http.StatusForbidden, send(typed("A")).Status, "without the token")
	got := send(csrf, typed("A-1\nB 2"))
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Body, "The codes: line 2 must be 1 to 200 bytes without blanks: &#34;B 2&#34;. No code was added.")
	require.Contains(t, got.Body, "A-1\nB 2</textarea>")
	got = send(csrf, typed("A-1\nA-1"), inFile("\ufeffB-2;x\nC-3,10 EUR\n"))
	require.Equal(t, path+"?done=codes-added", got.Header.Get("Location"), got.Body)
	level, err := w.Engine.FuelTanks.Level(t.Context(), "acme", "classic", referral.ReferredSide)
	require.NoError(t, err)
	require.Equal(t, int64(3), level.Available)
	require.Contains(t, b.Get(path).Body, `<span class="tag warn">Low</span>`)
	large := send(csrf, inFile(strings.Repeat("A", 1<<20)))
	require.Equal(t, http.StatusUnprocessableEntity, large.Status)
	require.Contains(t, large.Body, "The codes: are larger than 512 kB; upload them in several parts.")
	entries := w.Audit(t, people.AuditFilter{Action: operation.FillFuelTank.Action})
	require.Len(t, entries, 1)
	require.Equal(t, `{"codesSent":4,"side":"referred"}`, entries[0].After, "no codes in the audit log")
	b.Headers["X-Csrf-Token"] = token
	require.Equal(t, http.StatusNotFound, b.Send("POST", path+"/other", nil).Status)
}
