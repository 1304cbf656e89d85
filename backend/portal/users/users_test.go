package users_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
	"kith/backend/portal/portaltest"
	"kith/backend/store"
	"kith/backend/store/sqldtest"
	"kith/core"
	"kith/core/event"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
)

func TestMain(m *testing.M) { sqldtest.Main(m) }

// list is the path of the section.
const list = "/portal/t/acme/people"

// shop returns a portal with the referrer anna and the friend ben, whom anna referred.
func shop(t testing.TB) *portaltest.World {
	w := portaltest.New(t)
	w.Identify(t, "anna", "anna", portaltest.Named("Anna", "Ahrens"), portaltest.Owns("ANNA10"))
	w.Identify(t, "ben", "ben", portaltest.Named("Ben", "Bauer"), portaltest.By("ANNA10"))
	return w
}

// found returns the paths of the profiles on a page, in order, each once.
func found(body string) (paths []string) {
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`href="/portal/t/acme/people/([^"?#/]+/[^"?#]+)"`).FindAllStringSubmatch(body, -1) {
		if !seen[m[1]] {
			paths = append(paths, m[1])
		}
		seen[m[1]] = true
	}
	return paths
}

// People are found by the beginning of a name, an address or an id, and by a code.
func TestFind(t *testing.T) {
	t.Parallel()
	w := shop(t)
	b := w.SignedIn(t, portaltest.Owner)
	for search, want := range map[string][]string{
		"": {"anna/anna", "ben/ben"}, "ann": {"anna/anna"}, "AHR": {"anna/anna"}, "ben@": {"ben/ben"}, "shop.ex": {"anna/anna", "ben/ben"},
		"be bau": {"ben/ben"}, "be ahr": nil, "nna": nil, "anna10": {"anna/anna"}, "ANNA1": nil, "%": nil, "_": nil, `"`: nil, "*": nil,
	} {
		got := b.Get(list + "?search=" + url.QueryEscape(search))
		require.Equal(t, http.StatusOK, got.Status, search)
		require.Equal(t, want, found(got.Body), search)
	}
	require.Contains(t, b.Get(list+"?search=anna10").Body, `belongs to <a href="/portal/t/acme/people/anna/anna">Anna Ahrens</a>`)
	require.Contains(t, b.Get(list+"?search=unknown").Body, "No person found")
	require.Contains(t, b.Get("/portal/t/test_acme/people").Body, "No people yet")
	got := b.Get(list + "?search=a+b+c+d+e+f")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Body, "The search must not have more than 5 words.")
	for _, after := range []string{"x", "%00", "YQ", "YQpi"} {
		got = b.Get(list + "?search=a&after=" + after)
		require.Equal(t, http.StatusUnprocessableEntity, got.Status, after)
		require.Contains(t, got.Body, "begin at the first page")
	}
}

// Each person is on one page of the list, and on one page of a search.
func TestFind_Pages(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	const all = 60
	for i := range all {
		w.Identify(t, core.AccountID(fmt.Sprintf("a%02d", i)), core.UserID(fmt.Sprintf("a%02d", i)), portaltest.Named("Lena", "Lang"))
	}
	b := w.SignedIn(t, portaltest.Owner)
	for _, search := range []string{"", "l", "lang lena"} {
		next, seen, pages := list+"?search="+url.QueryEscape(search), map[string]bool{}, 0
		for next != "" {
			body := b.Get(next).Body
			for _, path := range found(body) {
				require.False(t, seen[path], path)
				seen[path] = true
			}
			next = ""
			if m := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(body); m != nil {
				next = strings.ReplaceAll(m[1], "&amp;", "&")
			}
			pages++
			require.Equal(t, pages > 1, strings.Contains(body, `rel="first"`))
		}
		require.Len(t, seen, all, search)
		require.Equal(t, 3, pages, search)
	}
}

// Ids may have any characters, which neither break links nor pages.
func TestProfile_OfAnyID(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	for _, id := range []string{
		"a/b", "a b", "ä日本", "a%2Fb", "a?b=c&d#e", "../x", "a//b", "<script>alert(1)</script>", `"onload="x`, "a+b", "a\\b", "reward", "...", "a;b", "-", "'",
	} {
		w.Identify(t, core.AccountID(id), core.UserID(id), portaltest.Named(id, ""))
		path := list + "/" + url.PathEscape(id) + "/" + url.PathEscape(id)
		require.Contains(t, html.UnescapeString(b.Get(list).Body), `href="`+path+`"`, id)
		for _, page := range []string{"", "/reward", "/event", "/referrer", "/block", "/data"} {
			got := b.Get(path + page)
			require.Equal(t, http.StatusOK, got.Status, path+page)
			require.NotContains(t, got.Body, "<script>alert", path)
			require.NotContains(t, got.Body, `"onload="`, path)
		}
		got := b.Post(t, path+"/block", path+"/block", "reason", "test")
		require.Equal(t, path+"?done=user-blocked", got.Header.Get("Location"))
		w.Pass(core.Minute)
		require.Equal(t, http.StatusSeeOther, b.Post(t, path+"/data", path+"/erase", "typed", id).Status, id)
		require.Equal(t, http.StatusNotFound, b.Get(path).Status)
	}
}

// The page of a user shows what the user has, in both directions of referrals.
func TestProfile(t *testing.T) {
	t.Parallel()
	w := shop(t)
	w.Identify(t, "ben", "ben", portaltest.By("OTHER"), portaltest.Paid)
	w.Identify(t, "ben", "ben", portaltest.By("ANNA10"))
	_, err := w.Engine.Rewards.Create(t.Context(), "acme", reward.Grant{Account: "ben", User: "ben", Source: reward.Manual, Offer: reward.Offer{Kind: reward.Credit, Amount: 1234, Unit: "CENTS", Currency: "EUR", Name: "Sorry"}})
	require.NoError(t, err)
	b := w.SignedIn(t, portaltest.Owner)
	anna := b.Get(list + "/anna/anna").Body
	require.Contains(t, anna, `value="https://acme.example/s/acme/ANNA10"`)
	require.Contains(t, anna, `https://acme.example/s/acme/ANNA10?rsShareMedium=WHATSAPP`)
	require.Contains(t, anna, `<a class="break" href="/portal/t/acme/people/ben/ben">Ben Bauer</a>`)
	require.Contains(t, anna, "Converted</span>")
	require.Contains(t, anna, "For a friend who was referred")
	ben := b.Get(list + "/ben/ben").Body
	require.Contains(t, ben, `<a class="break" href="/portal/t/acme/people/anna/anna">Anna Ahrens</a>`)
	require.NotContains(t, anna, "No link yet in")
	spring := referral.DefaultProgram("https://acme.example/")
	spring.Key, spring.Name = "spring", "Spring <sale>"
	_, err = w.Engine.Programs.Create(t.Context(), "acme", spring)
	require.NoError(t, err)
	require.Contains(t, b.Get(list+"/anna/anna").Text(), "No link yet in Spring <sale> : the user gets one when the shop identifies them again.")
	require.Contains(t, ben, "€12.34")
	require.Contains(t, ben, "Sorry")
	require.Contains(t, ben, "It was the first valid code of the account, and the first code is final.")
	require.Contains(t, ben, "The account was already referred by this code.")
	require.Contains(t, ben, "No user has this code.")
	require.Equal(t, http.StatusNotFound, b.Get(list+"/ben/anna").Status)
	require.Equal(t, http.StatusNotFound, b.Get("/portal/t/test_acme/people/ben/ben").Status)
	require.Equal(t, http.StatusNotFound, b.Get("/portal/t/rival/people/ben/ben").Status)
	require.Regexp(t, `href="/portal/t/acme/referrals/[0-9a-f]+"`, ben)
}

// Members see and do what their role permits.
func TestRoles(t *testing.T) {
	t.Parallel()
	w := shop(t)
	pages := map[string]*operation.Operation{
		"": operation.ReadReferrals, "/reward": operation.GrantReward, "/event": operation.AddEvent, "/referrer": operation.AttributeUser, "/block": operation.BlockUser, "/data": operation.ExportUser,
	}
	posts := map[string]*operation.Operation{
		"/reward": operation.GrantReward, "/event": operation.AddEvent, "/referrer": operation.AttributeUser, "/block": operation.BlockUser, "/unblock": operation.UnblockUser, "/rewards/x": operation.CancelReward,
		"/export": operation.ExportUser, "/erase": operation.EraseUser,
	}
	for _, role := range people.Roles() {
		b := w.As(t, role)
		require.Equal(t, http.StatusOK, b.Get(list).Status)
		for page, op := range pages {
			got := b.Get(list + "/ben/ben" + page)
			require.Equal(t, op.Permits(role), got.Status == http.StatusOK, "%s %s", role, page)
			if page != "" {
				require.Equal(t, op.Permits(role), strings.Contains(b.Get(list+"/ben/ben").Body, `href="/portal/t/acme/people/ben/ben`+page+`"`), "%s %s", role, page)
			}
		}
		require.Equal(t, operation.ReadAudit.Permits(role), strings.Contains(b.Get(list+"/ben/ben").Body, "Changes by members"), role)
		for path, op := range posts {
			got := b.Post(t, "/portal/profile", list+"/ben/ben"+path) // with empty fields
			require.Equal(t, op.Permits(role), got.Status != http.StatusForbidden, "%s %s", role, path)
		}
	}
}

// once returns the hidden field of a form that makes it apply once.
func once(t *testing.T, b *portaltest.Browser, page string) string {
	t.Helper()
	m := regexp.MustCompile(`name="once" value="([0-9a-f]{24})"`).FindStringSubmatch(b.Get(page).Body)
	require.NotNil(t, m)
	return m[1]
}

// sentAgain sends a form again with a field that has changed since it was applied. The form is
// shown again, and can be sent as a new one.
func sentAgain(t *testing.T, b *portaltest.Browser, page, once string, fields ...string) {
	t.Helper()
	again := b.Post(t, page, page, append(fields, "once", once)...)
	require.Equal(t, http.StatusUnprocessableEntity, again.Status)
	require.Contains(t, again.Text(), "This form was sent before with other values, which were stored; these were not")
	m := regexp.MustCompile(`name="once" value="([0-9a-f]{24})"`).FindStringSubmatch(again.Body)
	require.NotNil(t, m)
	require.NotEqual(t, once, m[1])
	require.Equal(t, http.StatusSeeOther, b.Post(t, page, page, append(fields, "once", m[1])...).Status)
}

// A reward is given once however often its form is sent, and the log has who gave it.
func TestReward(t *testing.T) {
	t.Parallel()
	w := shop(t)
	b := w.SignedIn(t, portaltest.Owner)
	page := list + "/ben/ben/reward"
	id := once(t, b, page)
	for range 2 {
		got := b.Post(t, page, page, "once", id, "type", "CREDIT", "amount", "12.50", "currency", "eur", "reason", "late parcel", "name", "Sorry")
		require.Equal(t, list+"/ben/ben?done=reward-added", got.Header.Get("Location"), got.Body)
	}
	all, _, err := w.Engine.Rewards.List(t.Context(), "acme", reward.Filter{Account: "ben", Limit: 10})
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, []any{id, int64(1250), "CENTS", "EUR", reward.Manual, "Sorry"}, []any{all[0].ID, all[0].Offer.Amount, all[0].Offer.Unit, all[0].Offer.Currency, all[0].Source, all[0].Offer.Name})
	log := w.Audit(t, people.AuditFilter{Action: operation.GrantReward.Action})
	require.Len(t, log, 1)
	require.Equal(t, people.Entry{
		Seq: log[0].Seq, At: portaltest.Began, Person: log[0].Person, Actor: "owner@acme.example", From: "198.51.100.7", Action: operation.GrantReward.Action, Subject: "ben / ben",
		After: `{"rewardId":"` + id + `","amount":"€12.50","reason":"late parcel"}`, Account: "ben", User: "ben",
	}, log[0])
	require.Contains(t, b.Get(list+"/ben/ben").Body, "late parcel")
	// A discount, and points.
	require.Equal(t, http.StatusSeeOther, b.Post(t, page, page, "once", once(t, b, page), "type", "PCT_DISCOUNT", "amount", "12.5", "reason", "x").Status)
	require.Equal(t, http.StatusSeeOther, b.Post(t, page, page, "once", once(t, b, page), "type", "CREDIT", "amount", "40", "unit", "POINTS", "reason", "x").Status)
	body := b.Get(list + "/ben/ben").Body
	require.Contains(t, body, "12.5%")
	require.Contains(t, body, "40 POINTS")
	// What was given by mistake is cancelled, if it is the user's.
	ask := list + "/ben/ben/rewards/" + id
	require.Contains(t, body, ask)
	require.Contains(t, b.Get(ask).Text(), "€12.50 is cancelled at once and for good")
	require.Equal(t, http.StatusNotFound, b.Get(list+"/anna/anna/rewards/"+id).Status)
	require.Contains(t, b.Post(t, ask, ask, "left", "1250").Text(), "The reason is required")
	require.Equal(t, http.StatusNotFound, b.Post(t, ask, list+"/anna/anna/rewards/"+id, "left", "1250", "reason", "x").Status)
	got := b.Post(t, ask, ask, "left", "1250", "reason", "a mistake")
	require.Equal(t, list+"/ben/ben?done=reward-cancelled", got.Header.Get("Location"), got.Body)
	require.NotContains(t, b.Get(list+"/ben/ben").Body, ask)
	for want, fields := range map[string][]string{
		"The amount is required":                                               {"reason", "x"},
		"The amount must be an amount such as 10.00, ":                         {"amount", "ten", "currency", "EUR", "reason", "x"},
		"The amount must be more than 0":                                       {"amount", "0", "currency", "EUR", "reason", "x"},
		"The amount must not be negative; give an amount such as 10.00":        {"amount", "-1", "currency", "EUR", "reason", "x"},
		"amounts in EUR have 2 decimals":                                       {"amount", "1.005", "currency", "EUR", "reason", "x"},
		"The reason is required":                                               {"amount", "1", "currency", "EUR"},
		"The currency must be a currency code of ISO 4217, such as EUR":        {"amount", "1", "currency", "EURO", "reason", "x"},
		"The currency must be a currency code of ISO 4217, such as USD":        {"amount", "1", "currency", "ABC", "reason", "x"},
		"The unit must be empty for an amount of money":                        {"amount", "1", "currency", "EUR", "unit", "POINTS", "reason", "x"},
		"The kind must be money or points":                                     {"type", "FUELTANK", "amount", "1", "reason", "x"},
		"The amount must be more than 0 and at most 100":                       {"type", "PCT_DISCOUNT", "amount", "101", "reason", "x"},
		"The unit must not be %":                                               {"amount", "1", "unit", "%", "reason", "x"},
		"The unit is a currency: leave it empty, and give EUR as the currency": {"amount", "1", "unit", "eur", "reason", "x"},
		"Is not an id of a reward; open the page again":                        {"once", "x", "amount", "1", "currency", "EUR", "reason", "x"},
		"The name must be at most 64 bytes on one line":                        {"amount", "1", "currency", "EUR", "reason", "x", "name", strings.Repeat("n", 65)},
	} {
		fields = append([]string{"type", "CREDIT", "once", core.NewID(1, [6]byte{})}, fields...)
		got := b.Post(t, page, page, fields...)
		require.Equal(t, http.StatusUnprocessableEntity, got.Status, want)
		require.Contains(t, got.Body, want)
		require.Contains(t, got.Body, "There is a problem")
	}
	require.Len(t, w.Audit(t, people.AuditFilter{Action: operation.GrantReward.Action}), 3)
	sentAgain(t, b, page, id, "type", "CREDIT", "amount", "15", "currency", "eur", "reason", "late parcel", "name", "Sorry")
}

// An event is logged once, as a trusted one, however often its form is sent.
func TestEvent(t *testing.T) {
	t.Parallel()
	w := shop(t)
	b := w.SignedIn(t, portaltest.Owner)
	page := list + "/ben/ben/event"
	id := once(t, b, page)
	for range 2 {
		got := b.Post(t, page, page, "once", id, "key", "purchase", "revenue", "49.90", "currency", "eur", "order_id", "A-1")
		require.Equal(t, list+"/ben/ben?done=event-added", got.Header.Get("Location"), got.Body)
	}
	var calls, trusted int
	var text string
	require.NoError(t, w.Engine.DB.QueryRowContext(t.Context(), `SELECT count(*), sum(trusted), max(events) FROM intake WHERE tenant = 'acme' AND user_id = 'ben'`).Scan(&calls, &trusted, &text))
	require.Equal(t, []int{1, 1}, []int{calls, trusted})
	require.Contains(t, text, `"revenue":49.90`)
	require.Len(t, w.Audit(t, people.AuditFilter{Action: operation.AddEvent.Action}), 1)
	_, err := w.Engine.Programs.Update(t.Context(), "acme", "classic", func(p *referral.Program) error {
		p.Conversion.Event, p.Conversion.Reversal = "order", "return"
		return nil
	})
	require.NoError(t, err)
	require.JSONEq(t, `{"event":"purchase","revenue":"49.90 EUR","order":"A-1"}`, w.Audit(t, people.AuditFilter{Action: operation.AddEvent.Action})[0].After)
	for want, fields := range map[string][]string{
		"The name of the event is required":                               {},
		"The revenue must be an amount such as 10.00, without a currency": {"key", "x", "revenue", "ten", "currency", "EUR"},
		"The revenue must not be negative":                                {"key", "x", "revenue", "-5", "currency", "EUR"},
		"amounts in JPY have 0 decimals":                                  {"key", "x", "revenue", "5.5", "currency", "JPY"},
		"The revenue must be at most 10000000000.00":                      {"key", "x", "revenue", "10000000000,01", "currency", "EUR"},
		"The currency must be a currency code of ISO 4217, such as USD":   {"key", "x", "revenue", "1", "currency", "ABC"},
		"The currency must be a currency code of":                         {"key", "x", "revenue", "1"},
		"The name of the event must not be lon":                           {"key", strings.Repeat("k", event.MaxKey+1)},
		"The number of the order must not be l":                           {"key", "x", "order_id", strings.Repeat("k", event.MaxText+1)},
		"The name of the event must be written as in the program: order":  {"key", "Order"},
		"The number of the order is required with return":                 {"key", "return", "revenue", "5", "currency", "EUR"},
		"The number of the order is that of no order of this account":     {"key", "return", "order_id", "A-2"},
	} {
		got := b.Post(t, page, page, append([]string{"once", core.NewID(2, [6]byte{})}, fields...)...)
		require.Equal(t, http.StatusUnprocessableEntity, got.Status, want)
		require.Contains(t, got.Body, want)
	}
	require.Equal(t, http.StatusNotFound, b.Post(t, page, list+"/un/known/event", "once", core.NewID(3, [6]byte{}), "key", "x").Status)

	// An event whose entry in the audit log cannot be stored is not stored either.
	require.NoError(t, w.Engine.DB.Write(t.Context(), 1, func(tx *store.Tx) error {
		return tx.Exec(t.Context(), "trigger", `CREATE TRIGGER no_entries BEFORE INSERT ON audit_entry BEGIN SELECT RAISE(ABORT, 'no room'); END`)
	}))
	require.Equal(t, http.StatusInternalServerError, b.Post(t, page, page, "once", core.NewID(4, [6]byte{}), "key", "x").Status)
	require.NoError(t, w.Engine.DB.QueryRowContext(t.Context(), `SELECT count(*) FROM intake WHERE tenant = 'acme' AND user_id = 'ben'`).Scan(&calls))
	require.Equal(t, 1, calls)
	require.NoError(t, w.Engine.DB.Write(t.Context(), 1, func(tx *store.Tx) error {
		return tx.Exec(t.Context(), "trigger", `DROP TRIGGER no_entries`)
	}))
	sentAgain(t, b, page, id, "key", "order", "revenue", "49.90", "currency", "eur", "order_id", "A-2")
}

// A member blocks and unblocks a user for a reason.
func TestBlock(t *testing.T) {
	t.Parallel()
	w := shop(t)
	b := w.SignedIn(t, portaltest.Owner)
	page := list + "/anna/anna/block"
	require.Equal(t, http.StatusUnprocessableEntity, b.Post(t, page, page).Status)
	require.Contains(t, b.Get(page).Body, "1 referral is in progress.")
	require.Contains(t, b.Post(t, page, page, "reason", "many fake friends", "rewards", "TAKE").Body, "The choice must be KEEP, HOLD or CANCEL.")
	require.Equal(t, list+"/anna/anna?done=user-blocked", b.Post(t, page, page, "reason", "many fake friends", "rewards", "HOLD").Header.Get("Location"))
	require.Contains(t, b.Get(list+"/anna/anna").Body, "; the rewards are held")
	require.Contains(t, b.Get(page).Body, "The rewards that the block held are given back.")
	require.Contains(t, b.Get(list).Body, "Blocked</span>")
	got := b.Post(t, page, page, "reason", "again")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Body, "This user is blocked already.")
	require.Equal(t, list+"/anna/anna?done=user-unblocked", b.Post(t, page, list+"/anna/anna/unblock", "reason", "a mistake").Header.Get("Location"))
	require.Contains(t, b.Post(t, page, list+"/anna/anna/unblock", "reason", "again").Body, "This user is not blocked.")
	require.Equal(t, `{"reason":"many fake friends","rewards":"HOLD"}`, w.Audit(t, people.AuditFilter{Action: operation.BlockUser.Action})[0].After)
	require.Equal(t, `{"reason":"a mistake"}`, w.Audit(t, people.AuditFilter{Action: operation.UnblockUser.Action})[0].After)
	require.Len(t, w.Audit(t, people.AuditFilter{Action: operation.BlockUser.Action}), 1)
}

// A member attributes a user, within the rules; the decision keeps the reason.
func TestAttribute(t *testing.T) {
	t.Parallel()
	w := shop(t)
	w.Identify(t, "cleo", "cleo")
	w.Identify(t, "dora", "dora", portaltest.Paid)
	b := w.SignedIn(t, portaltest.Owner)
	attribute := func(who, code, reason string) portaltest.Answer {
		page := list + "/" + who + "/" + who + "/referrer"
		return b.Post(t, page, page, "code", code, "reason", reason)
	}
	for want, in := range map[string][3]string{
		"The reason is required":                         {"cleo", "ANNA10", ""},
		"The code cannot refer this user. No user has":   {"cleo", "NOPE", "x"},
		"The code cannot refer this user. The account p": {"dora", "ANNA10", "x"},
		"The code cannot refer this user. The code belo": {"anna", "ANNA10", "x"},
	} {
		got := attribute(in[0], in[1], in[2])
		require.Equal(t, http.StatusUnprocessableEntity, got.Status, want)
		require.Contains(t, got.Body, want)
	}
	_, decisions, err := w.Engine.Referrals.Decisions(t.Context(), "acme", "cleo", base.Page{Limit: 10})
	require.NoError(t, err)
	require.Zero(t, decisions, "nothing is recorded of what was refused")
	require.Empty(t, w.Audit(t, people.AuditFilter{Action: operation.AttributeUser.Action}))
	require.Equal(t, list+"/cleo/cleo?done=user-attributed", attribute("cleo", " anna10 ", "asked on the phone").Header.Get("Location"))
	body := b.Get(list + "/cleo/cleo").Body
	require.Contains(t, body, "a member, by hand")
	require.Contains(t, body, "Reason: asked on the phone")
	require.Contains(t, body, `href="/portal/t/acme/people/anna/anna"`)
	require.Regexp(t, `^{"referralId":"[0-9a-f]{24}"}$`, w.Audit(t, people.AuditFilter{Action: operation.AttributeUser.Action})[0].After)
}

// A member replaces the referrer while nothing depends on the referral, and not later. What
// is kept names neither of two referrers once that one is erased.
func TestAttribute_Replaces(t *testing.T) {
	t.Parallel()
	w := shop(t)
	w.Identify(t, "carl", "carl", portaltest.Named("Carl", "Clever"), portaltest.Owns("CARL10"))
	w.Identify(t, "dora", "dora", portaltest.Owns("DORA10"), portaltest.By("CARL10"), portaltest.Paid)
	b := w.SignedIn(t, portaltest.Owner)
	attribute := func(who, code string) portaltest.Answer {
		page := list + "/" + who + "/" + who + "/referrer"
		return b.Post(t, page, page, "code", code, "reason", "because")
	}
	before, err := w.Engine.Users.ByID(t.Context(), "acme", "ben", "ben")
	require.NoError(t, err)
	w.Identify(t, "ben", "ben", portaltest.By("DORA10")) // too late; the decision has the code ANNA10
	w.Pass(core.Minute)
	require.Equal(t, list+"/ben/ben?done=user-attributed", attribute("ben", "CARL10").Header.Get("Location"))
	after, err := w.Engine.Users.ByID(t.Context(), "acme", "ben", "ben")
	require.NoError(t, err)
	was, is := before.ReferredBy.Referral, after.ReferredBy.Referral
	require.Equal(t, was.ID, is.ID)
	require.Equal(t, []any{core.ReferralCode("CARL10"), core.AccountID("carl"), was.Started + core.Minute}, []any{is.Code, is.Referrer.Account, is.Started})
	require.Equal(t, core.ReferralCode("CARL10"), after.Account.Standing.Code)
	require.Contains(t, b.Get(list+"/ben/ben").Body, "A member replaced the code that referred the account")
	require.NotContains(t, b.Get(list+"/anna/anna").Body, "Ben Bauer")
	require.Contains(t, b.Get(list+"/carl/carl").Body, "Ben Bauer")
	require.Contains(t, attribute("ben", "CARL10").Body, "The account was already referred by this code.")
	require.Contains(t, attribute("ben", "DORA10").Header.Get("Location"), "user-attributed")
	require.Contains(t, attribute("dora", "ANNA10").Body, "already been referred by another code", "it has converted")
	require.Contains(t, attribute("ben", "ANNA10").Header.Get("Location"), "user-attributed")
	for _, gone := range []string{"anna", "carl", "dora"} {
		require.Equal(t, http.StatusSeeOther, b.Post(t, list, list+"/"+gone+"/"+gone+"/erase", "typed", gone).Status)
		for _, code := range []string{strings.ToUpper(gone) + "10", "because"} {
			var n int
			require.NoError(t, w.Engine.DB.QueryRowContext(t.Context(), `SELECT count(*) FROM decision WHERE tenant = 'acme' AND account_id = 'ben' AND code || inputs LIKE ?`, "%"+code+"%").Scan(&n))
			if code != "because" || gone == "dora" {
				require.Zero(t, n, "%s of %s", code, gone)
			}
		}
	}
	// The friend of an erased referrer still converts.
	w.Identify(t, "ben", "ben", portaltest.Paid)
	require.Contains(t, b.Get(list+"/ben/ben").Body, "Converted")
}

// An export has all data; an erasure removes it, also from the audit log.
func TestData(t *testing.T) {
	t.Parallel()
	w := shop(t)
	b := w.SignedIn(t, portaltest.Owner)
	page := list + "/ben/ben/data"
	require.Equal(t, http.StatusSeeOther, b.Post(t, page, list+"/ben/ben/block", "reason", "a secret of ben").Status)
	got := b.Post(t, page, list+"/ben/ben/export")
	require.Equal(t, `attachment; filename="user-acme-2023-11-14.json"`, got.Header.Get("Content-Disposition"))
	var file struct {
		User   string
		Tables map[string][]any
	}
	require.NoError(t, json.Unmarshal([]byte(got.Body), &file))
	require.Equal(t, "ben", file.User)
	require.Contains(t, file.Tables, "referral")
	require.Contains(t, got.Body, "a secret of ben")
	require.Len(t, w.Audit(t, people.AuditFilter{Action: operation.ExportUser.Action}), 1)
	require.Equal(t, http.StatusNotFound, b.Post(t, page, list+"/un/known/export").Status)
	require.Len(t, w.Audit(t, people.AuditFilter{Action: operation.ExportUser.Action}), 1)

	got = b.Post(t, page, list+"/ben/ben/erase", "typed", "anna")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Body, "The text is not the id of this user")
	require.Equal(t, list+"?done=user-erased", b.Post(t, page, list+"/ben/ben/erase", "typed", "ben", "refuse", "yes").Header.Get("Location"))
	require.Equal(t, http.StatusNotFound, b.Get(list+"/ben/ben").Status)
	require.Contains(t, b.Get(list+"/anna/anna").Body, "Deleted person")
	_, err := w.Engine.Identification.Identify(t.Context(), "acme", rules.Identification{Update: referral.UserUpdate{Account: "ben", ID: "ben"}})
	require.ErrorContains(t, err, "not to be tracked again")
	for _, e := range w.Audit(t, people.AuditFilter{}) {
		text := fmt.Sprint(e.Subject, e.Before, e.After, e.Account, e.User)
		if strings.HasPrefix(string(e.Action), "user.") {
			require.NotContains(t, text, "ben", e.Action)
			require.NotContains(t, text, "secret", e.Action)
		}
	}
	require.Equal(t, `{"doNotTrack":true}`, w.Audit(t, people.AuditFilter{Action: operation.EraseUser.Action})[0].After)
}

// The number of statements of a page does not depend on how much it shows.
func TestPages_NeedConstantStatements(t *testing.T) {
	t.Parallel()
	w := shop(t)
	w.Identify(t, "a0", "a0", portaltest.By("ANNA10"), portaltest.Paid)
	w.SignedIn(t, portaltest.Owner).SameStatements(t, w.CountStatements(), []string{list, list + "?search=a", list + "/anna/anna"}, func() {
		for i := range 20 {
			id := fmt.Sprintf("a1%02d", i)
			w.Identify(t, core.AccountID(id), core.UserID(id), portaltest.By("ANNA10"), portaltest.Paid)
		}
	})
}
