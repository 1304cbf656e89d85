package referrals_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
	"kith/backend/portal/portaltest"
	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/backend/store/sqldtest"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/conversion"
	"kith/core/event"
	"kith/core/exportfile"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
)

func TestMain(m *testing.M) { sqldtest.Main(m) }

const section = "/portal/t/acme/referrals"

// identify identifies a user of an account of the same id. code refers the user; it may be
// empty.
func identify(t *testing.T, w *portaltest.World, id, first, last string, code core.ReferralCode, change ...func(*rules.Identification)) {
	t.Helper()
	change = append(change, portaltest.Named(first, last))
	if code != "" {
		change = append(change, portaltest.By(code))
	}
	w.Identify(t, core.AccountID(id), core.UserID(id), change...)
	w.Pass(core.Minute)
}

// newWorld returns a portal whose user Anna has the code ANNA10, and an owner's browser.
func newWorld(t *testing.T) (*portaltest.World, *portaltest.Browser) {
	t.Helper()
	w := portaltest.New(t)
	identify(t, w, "anna", "Anna", "Ahrens", "", portaltest.Owns("ANNA10"))
	return w, w.SignedIn(t, portaltest.Owner)
}

// holdFraud makes the program hold the rewards of referrals with signs of fraud.
func holdFraud(t *testing.T, w *portaltest.World) {
	t.Helper()
	_, err := w.Engine.Programs.Update(t.Context(), "acme", core.ClassicProgram, func(p *referral.Program) error {
		p.Fraud.Handling = referral.HandlePending
		return nil
	})
	require.NoError(t, err)
}

func of(t *testing.T, w *portaltest.World, account core.AccountID) referral.Referral {
	t.Helper()
	page, _, err := w.Engine.Referrals.List(t.Context(), "acme", referral.Filter{ReferredAccount: account, Limit: 1})
	require.NoError(t, err)
	require.Len(t, page, 1)
	return page[0]
}

var inRow = regexp.MustCompile(`data-row>([^<]*(?:<wbr>[^<]*)*)</a>`)

// names returns the names of the referrals on a page of the list.
func names(a portaltest.Answer) (all []string) {
	for _, m := range inRow.FindAllStringSubmatch(a.Body, -1) {
		all = append(all, strings.TrimPrefix(strings.ReplaceAll(m[1], "<wbr>", ""), "Anna Ahrens → "))
	}
	return all
}

// Each filter is in the URL and selects; a wrong value is an error about its field.
func TestList_Filters(t *testing.T) {
	t.Parallel()
	w, b := newWorld(t)
	require.Contains(t, b.Get(section).Body, "No referrals yet")
	identify(t, w, "ben", "Ben", "Ode", "ANNA10")
	identify(t, w, "cleo", "Cleo", "Carr", "anna10", portaltest.Paid)
	holdFraud(t, w)
	identify(t, w, "dan", "Anna", "Ahrens", "ANNA10", portaltest.Paid)
	status := referral.Cancelled
	_, err := w.Engine.Accounts.Sync(t.Context(), "acme", referral.AccountUpdate{ID: "ben", Status: &status})
	require.NoError(t, err)
	require.NoError(t, w.Engine.Moderation.Apply(t.Context(), people.Caller{Tenant: "acme"}, []referral.Moderation{{Referral: of(t, w, "cleo").ID, Action: referral.DenyReferrer}}))
	for query, want := range map[string]string{
		"": "Anna Ahrens,Cleo Carr,Ben Ode", "state=in-progress": "Ben Ode", "state=converted": "Anna Ahrens,Cleo Carr", "state=ended": "Ben Ode",
		"moderation=PENDING": "Anna Ahrens", "moderation=DENIED": "Cleo Carr", "moderation=APPROVED": "Ben Ode",
		"code=ANNA10": "Anna Ahrens,Cleo Carr,Ben Ode", "code=anna10": "Anna Ahrens,Cleo Carr,Ben Ode", "code=BEN": "", "program=classic": "Anna Ahrens,Cleo Carr,Ben Ode", "program=other": "",
		"person=ben@shop.example": "Ben Ode", "person=BEN@SHOP": "Ben Ode", "person=anna@": "Anna Ahrens,Cleo Carr,Ben Ode", "person=carr+cleo": "Cleo Carr", "person=nobody": "",
		"person=ahrens&moderation=PENDING": "Anna Ahrens", "from=2023-11-14&to=2023-11-14": "Anna Ahrens,Cleo Carr,Ben Ode", "from=2023-11-15": "", "to=2023-11-13": "",
		"state=converted&moderation=DENIED&code=anna10&program=classic&person=cleo": "Cleo Carr",
	} {
		got := b.Get(section + "?" + query)
		require.Equal(t, http.StatusOK, got.Status, query)
		require.Equal(t, want, strings.Join(names(got), ","), query)
		require.Equal(t, want == "", strings.Contains(got.Body, "No referral matches the filter"), query)
	}
	for query, want := range map[string]string{
		"state=x": "The state must be one of in-progress, converted, ended.", "moderation=x": "The moderation must be one of PENDING, APPROVED, DENIED.",
		"from=x": "The first day is not a day; give one like 2026-01-31.", "from=2026-01-02&to=2026-01-01": "The last day must not be before the first day; exchange the two days.",
		"person=be": "The person must have at least 3 characters in each word", "code=a%20b": "The code ", "before=x": "Is not a page of this list; begin at the first page.",
	} {
		got := b.Get(section + "?" + query)
		require.Equal(t, http.StatusUnprocessableEntity, got.Status, query)
		require.Contains(t, got.Text(), want, query)
	}
	// The list of another tenant has nothing of this one.
	require.Contains(t, b.Get("/portal/t/test_acme/referrals").Body, "No referrals yet")
	require.Equal(t, http.StatusNotFound, b.Get("/portal/t/test_acme/referrals/"+of(t, w, "ben").ID).Status)
}

// Pages follow each other without gaps, also if referrals started in the same millisecond,
// and keep the filter.
func TestList_Pages(t *testing.T) {
	t.Parallel()
	w, b := newWorld(t)
	const total = 2*referral.MaxSearchPage + 1
	for i := range total {
		identify(t, w, fmt.Sprintf("f%03d", i), "F", fmt.Sprintf("%03d", i), "ANNA10")
		if i%3 != 0 {
			w.Pass(-core.Minute)
		}
	}
	seen := map[string]bool{}
	path, pages := section+"?state=in-progress&code=ANNA10", 0
	for path != "" {
		got := b.Get(path)
		for _, name := range names(got) {
			require.False(t, seen[name], name)
			seen[name] = true
		}
		pages++
		next := regexp.MustCompile(`<a href="([^"]+)" rel="next">`).FindStringSubmatch(got.Body)
		require.Equal(t, pages > 1, strings.Contains(got.Body, `rel="first"`))
		if path = ""; next != nil {
			path = strings.ReplaceAll(next[1], "&amp;", "&")
			require.Contains(t, path, "state=in-progress")
		}
	}
	require.Equal(t, 3, pages)
	require.Len(t, seen, total)
	// A person with many referrals has pages, too.
	got := b.Get(section + "?person=anna@shop.example")
	require.Len(t, names(got), referral.MaxSearchPage)
	require.Contains(t, got.Body, `rel="next"`)
	// The domain of all addresses, of the referrer and of the friend.
	seen, path = map[string]bool{}, section+"?person=shop.example"
	for path != "" {
		got := b.Get(path)
		require.Equal(t, http.StatusOK, got.Status)
		for _, name := range names(got) {
			require.False(t, seen[name], name)
			seen[name] = true
		}
		next := regexp.MustCompile(`<a href="([^"]+)" rel="next">`).FindStringSubmatch(got.Body)
		if path = ""; next != nil {
			path = strings.ReplaceAll(next[1], "&amp;", "&")
		}
	}
	require.Len(t, seen, total)
	require.Contains(t, b.Get(section+"?person=shop.example+nobody").Text(), "No referral matches the filter")
}

// The page of a referral says why each side has its reward or has none, and a decision
// changes that: it is confirmed, has a reason, and is in the audit log and the timeline.
func TestReferral_IsModerated(t *testing.T) {
	t.Parallel()
	w, b := newWorld(t)
	holdFraud(t, w)
	identify(t, w, "dan", "Anna", "Ahrens", "ANNA10")
	r := of(t, w, "dan")
	page := section + "/" + r.ID
	require.Contains(t, b.Get(page).Text(), "Anna Ahrens gets no reward yet: the account dan is TRIAL, and the referral converts when it becomes PAID.")
	status := referral.Paid
	_, err := w.Engine.Accounts.Sync(t.Context(), "acme", referral.AccountUpdate{ID: "dan", Status: &status})
	require.NoError(t, err)
	text := b.Get(page).Text()
	require.Contains(t, text, "Anna Ahrens gets no reward yet: $10.00 is held until the referral is approved or denied. Signs of fraud: Referrer and referred have the same name.")
	require.Contains(t, text, "It was the first valid code of the account, and the first code is final.")
	require.Contains(t, text, "The referral converted. The account is PAID and a user of it was identified.")

	ask := section + "/moderate?action=APPROVED&referral=" + r.ID
	confirm := b.Get(ask)
	require.Contains(t, confirm.Text(), "Referrer: $10.00 is released")
	seen := regexp.MustCompile(`name="referral" value="([^"]+)"`).FindStringSubmatch(confirm.Body)[1]
	got := b.Post(t, ask, section+"/moderate", "action", "APPROVED", "referral", seen, "reason", " ")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Text(), "The reason is required; write in a few words why you do this.")
	require.Equal(t, "PENDING", of(t, w, "dan").Moderation.Status())
	w.Pass(core.Minute)
	got = b.Post(t, ask, section+"/moderate", "action", "APPROVED", "referral", seen, "reason", "Siblings, checked by phone.")
	require.Equal(t, page+"?done=referrals-approved", got.Header.Get("Location"))
	text = b.Get(got.Header.Get("Location")).Text()
	require.Contains(t, text, "Approved. Rewards that were held are given at once")
	require.Contains(t, text, "The referral was approved: both sides get their rewards. By owner@acme.example. Siblings, checked by phone.")
	require.Contains(t, text, "and has not used it yet.")
	require.Equal(t, reward.StatusAvailable, of(t, w, "dan").ReferrerReward.Status(w.Engine.Now()))
	entries := w.Audit(t, people.AuditFilter{Subject: r.ID})
	require.Len(t, entries, 1)
	require.Equal(t, operation.ApproveReferral.Action, entries[0].Action)
	require.JSONEq(t, `{"referrer":"PENDING","referred":"PENDING"}`, entries[0].Before)
	require.JSONEq(t, `{"decision":"APPROVED","referrer":"APPROVED","referred":"APPROVED","reason":"Siblings, checked by phone."}`, entries[0].After)
	require.Equal(t, core.UserID("dan"), entries[0].User)

	// The same page again, in a tab that was open: the referral has changed since.
	got = b.Post(t, ask, section+"/moderate", "action", "DENIED", "referral", seen, "reason", "Too late")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Text(), "The referral has changed since you opened it; look at it again, then decide.")
	require.Regexp(t, "Changed since you opened the page: .*→.* with the code "+string(r.Code), got.Text())
	require.Equal(t, referral.SideApproved, of(t, w, "dan").Moderation.Referrer.Status)
	entries = w.Audit(t, people.AuditFilter{Subject: r.ID})
	require.Len(t, entries, 1, "a refused decision is not in the log")

	// One side.
	w.Pass(core.Minute)
	ask = section + "/moderate?action=REFERRED_DENIED&referral=" + r.ID
	seen = regexp.MustCompile(`name="referral" value="([^"]+)"`).FindStringSubmatch(b.Get(ask).Body)[1]
	got = b.Post(t, ask, section+"/moderate", "action", "REFERRED_DENIED", "referral", seen, "reason", "An employee")
	require.Equal(t, page+"?done=referrals-denied", got.Header.Get("Location"))
	require.Contains(t, b.Get(page).Text(), "Anna Ahrens gets no reward: 10% was cancelled, because the referral was denied on 14 Nov 2023,")
}

// Several pending referrals are decided together, all or none.
func TestList_DecidesAboutSeveral(t *testing.T) {
	t.Parallel()
	w, b := newWorld(t)
	holdFraud(t, w)
	var ids []string
	for i := range 3 {
		identify(t, w, fmt.Sprint("dan", i), "Anna", "Ahrens", "ANNA10", portaltest.Paid)
		ids = append(ids, of(t, w, core.AccountID(fmt.Sprint("dan", i))).ID)
	}
	list := b.Get(section + "?moderation=PENDING")
	require.Equal(t, 3, strings.Count(list.Body, `form="chosen" name="referral"`))
	ask := section + "/moderate?action=DENIED&referral=" + ids[0] + "&referral=" + ids[2]
	confirm := b.Get(ask)
	require.Contains(t, confirm.Text(), "Deny 2 referrals?")
	require.Contains(t, confirm.Text(), "Referrer: $10.00 is cancelled")
	form := url.Values{"action": {"DENIED"}, "reason": {"One person"}, "csrf": {confirm.Token(t)}}
	for _, m := range regexp.MustCompile(`name="referral" value="([^"]+)"`).FindAllStringSubmatch(confirm.Body, -1) {
		form.Add("referral", m[1])
	}
	require.Len(t, form["referral"], 2)
	broken := url.Values{"action": form["action"], "reason": form["reason"], "csrf": form["csrf"], "referral": {form["referral"][0], ids[1] + "@1"}}
	require.Equal(t, http.StatusUnprocessableEntity, b.Send("POST", section+"/moderate", broken).Status)
	require.Equal(t, 3, len(names(b.Get(section+"?moderation=PENDING"))), "none was decided")
	got := b.Send("POST", section+"/moderate", form)
	require.Equal(t, section+"?moderation=PENDING&done=referrals-denied", got.Header.Get("Location"))
	require.Equal(t, 1, len(names(b.Get(section+"?moderation=PENDING"))))
	entries := w.Audit(t, people.AuditFilter{Action: operation.DenyReferral.Action})
	require.Len(t, entries, 2)
	got = b.Get(section + "/moderate?action=DENIED")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Text(), "No referral is chosen; go back and choose at least one.")
	require.Equal(t, http.StatusNotFound, b.Get(section+"/moderate?action=x&referral="+ids[1]).Status)
}

// A reward is cancelled with a reason, once, and only as the person saw it.
func TestReward_IsCancelled(t *testing.T) {
	t.Parallel()
	w, b := newWorld(t)
	identify(t, w, "ben", "Ben", "Ode", "ANNA10", portaltest.Paid)
	r := of(t, w, "ben")
	page, ask := section+"/"+r.ID, section+"/"+r.ID+"/rewards/"+r.ReferrerReward.ID
	require.Contains(t, b.Get(page).Body, ask)
	require.Contains(t, b.Get(ask).Text(), "$10.00 is cancelled at once and for good")
	require.Equal(t, http.StatusUnprocessableEntity, b.Post(t, ask, ask, "left", "1000", "reason", "").Status)
	got := b.Post(t, ask, ask, "left", "999", "reason", "Paid in cash")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Text(), "The reward has changed since you opened it; look at it again, then decide.")
	w.Pass(core.Minute)
	got = b.Post(t, ask, ask, "left", "1000", "reason", "Paid in cash")
	require.Equal(t, page+"?done=reward-cancelled", got.Header.Get("Location"))
	require.Contains(t, b.Get(page).Text(), "Anna Ahrens gets no reward: $10.00 was cancelled on 14 Nov 2023, 22:16 UTC by owner@acme.example, with the reason: Paid in cash.")
	got = b.Post(t, ask, ask, "left", "0", "reason", "Again")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Text(), "The reward is CANCELLED, so it cannot be cancelled.")
	require.NotContains(t, b.Get(page).Body, ask)
	entries := w.Audit(t, people.AuditFilter{Action: operation.CancelReward.Action})
	require.Len(t, entries, 1)
	require.JSONEq(t, `{"rewardId":"`+r.ReferrerReward.ID+`","amount":"$0.00","reason":"Paid in cash"}`, entries[0].After)
	require.Equal(t, http.StatusNotFound, b.Get(section+"/"+r.ID+"/rewards/x").Status)
	require.Equal(t, http.StatusNotFound, b.Get(section+"/x").Status)
}

// Each role sees what it may do, and may do no more.
func TestRoles(t *testing.T) {
	t.Parallel()
	w, _ := newWorld(t)
	holdFraud(t, w)
	identify(t, w, "dan", "Anna", "Ahrens", "ANNA10", portaltest.Paid)
	r := of(t, w, "dan")
	for _, role := range people.Roles() {
		b := w.As(t, role)
		may := func(op *operation.Operation) int {
			if op.Permits(role) {
				return http.StatusOK
			}
			return http.StatusForbidden
		}
		list, page := b.Get(section), b.Get(section+"/"+r.ID)
		require.Equal(t, http.StatusOK, list.Status, role)
		require.Equal(t, http.StatusOK, page.Status, role)
		require.Equal(t, operation.Moderate.Permits(role), strings.Contains(list.Body, `id="chosen"`), role)
		require.Equal(t, operation.Moderate.Permits(role), strings.Contains(page.Body, "Deny…"), role)
		require.Equal(t, operation.StartExport.Permits(role), strings.Contains(list.Body, "Download CSV"), role)
		require.Equal(t, may(operation.Moderate), b.Get(section+"/moderate?action=APPROVED&referral="+r.ID).Status, role)
		require.Equal(t, may(operation.Moderate), b.Get(section+"/"+r.ID+"/rewards/"+r.ReferrerReward.ID).Status, role)
		require.Equal(t, may(operation.StartExport), b.Post(t, section, section+"/export").Status, role)
		if !operation.Moderate.Permits(role) {
			require.Equal(t, http.StatusForbidden, b.Post(t, section, section+"/moderate", "action", "APPROVED", "referral", r.ID+"@1", "reason", "x").Status)
			require.Equal(t, http.StatusForbidden, b.Post(t, section, section+"/"+r.ID+"/rewards/"+r.ReferrerReward.ID, "left", "1000", "reason", "x").Status)
		}
	}
	require.Equal(t, "PENDING", of(t, w, "dan").Moderation.Status())
}

// The file has what the filter selects, is harmless in spreadsheets, and is in the audit log.
func TestExport(t *testing.T) {
	t.Parallel()
	w, b := newWorld(t)
	identify(t, w, "ben", "=1+1", "", "ANNA10", portaltest.Paid)
	identify(t, w, "cleo", "Cleo", "Carr", "ANNA10")
	got := b.Post(t, section, section+"/export", "state", "converted", "zone", "Europe/Berlin")
	require.Equal(t, `attachment; filename="referrals-acme-2023-11-14.csv"`, got.Header.Get("Content-Disposition"))
	lines := strings.Split(strings.TrimSpace(got.Body), "\n")
	require.Len(t, lines, 2)
	require.Equal(t, of(t, w, "ben").ID+",classic,converted,ANNA10,,,2023-11-14 23:14:20,2023-11-14 23:14:20,,anna,anna,anna@shop.example,Anna Ahrens,ben,ben,ben@shop.example,'=1+1,APPROVED,APPROVED,,10.00,USD,available,10,%,available,2023-11-14T22:14:20.000Z,2023-11-14T22:14:20.000Z,", lines[1])
	require.True(t, strings.HasPrefix(got.Body, exportfile.Mark+"id,programId,state,code,shareMedium,shareLink,dateStarted (Europe/Berlin),"), lines[0])
	require.Len(t, strings.Split(lines[1], ","), len(strings.Split(lines[0], ",")))
	entries := w.Audit(t, people.AuditFilter{Action: operation.ExportReferrals.Action})
	require.Len(t, entries, 1)
	got = b.Post(t, section, section+"/export", "from", "x")
	require.Equal(t, http.StatusBadRequest, got.Status)
	require.Empty(t, got.Header.Get("Content-Disposition"))
}

// After the refund of a part of an order, each view has what is left of the reward; after that
// of all of it, each says that it was taken back.
func TestRefund_ViewsAgree(t *testing.T) {
	t.Parallel()
	w, b := newWorld(t)
	_, err := w.Engine.Programs.Update(t.Context(), "acme", core.ClassicProgram, func(p *referral.Program) error {
		p.Conversion = conversion.Rule{Event: "purchase", Reversal: "refund"}
		p.Referrer = reward.Offer{Kind: reward.Credit, Unit: reward.UnitCents, OfRevenue: 1000}
		return nil
	})
	require.NoError(t, err)
	identify(t, w, "ben", "Ben", "Berg", "ANNA10")
	tenant, err := tenantdb.Find(t.Context(), w.Engine.DB.Reads, "acme")
	require.NoError(t, err)
	send := func(key, fields string) {
		t.Helper()
		_, err := w.Engine.Events.Log(t.Context(), base.Caller{Tenant: tenant, Key: true}, event.Call{
			Account: "ben", User: "ben", Events: []event.Event{{Key: key, Fields: fields}},
		})
		require.NoError(t, err)
		require.NoError(t, w.Engine.DB.Write(t.Context(), w.Engine.Now(), func(tx *store.Tx) error {
			_, err := eventdb.ProcessIntake(t.Context(), tx, 10)
			return err
		}))
		for more := true; more; {
			more, err = w.Engine.Orders.Apply(t.Context(), slog.New(slog.DiscardHandler))
			require.NoError(t, err)
		}
		w.Pass(core.Minute)
	}
	const person = "/portal/t/acme/people/anna/anna"
	page := section + "/" + of(t, w, "ben").ID
	send("purchase", `{"order_id":"7","revenue":80.10,"currency":"USD"}`)
	for _, path := range []string{section, page, person} {
		require.Contains(t, b.Get(path).Text(), "$8.01", path)
	}
	send("refund", `{"order_id":"7","revenue":40,"currency":"USD"}`)
	row := func() string { return b.Post(t, section, section+"/export").Body }
	for _, path := range []string{section, page, person} {
		require.Contains(t, b.Get(path).Text(), "$4.01", path)
	}
	for _, path := range []string{page, person} {
		got := b.Get(path).Text()
		require.Contains(t, got, "A refund took back $4.00 of $8.01.", path)
		require.NotContains(t, got, "was used", path)
	}
	require.Contains(t, row(), ",4.01,USD,available,")
	send("refund", `{"order_id":"7","revenue":40.10,"currency":"USD"}`)
	for _, path := range []string{section, page} {
		require.Contains(t, b.Get(path).Text(), "Taken back", path)
	}
	require.Contains(t, b.Get(person).Text(), "A refund of the order took it back.")
	require.Contains(t, row(), ",0.00,USD,taken back,")
	// Of several rewards, what the side got, and what became of each.
	send("purchase", `{"order_id":"9","revenue":20,"currency":"USD"}`)
	send("purchase", `{"order_id":"10","revenue":30,"currency":"USD"}`)
	require.Contains(t, b.Get(section).Text(), "$5.00 2 available, 1 taken back")
	require.Contains(t, row(), `,5.00,USD,"2 available, 1 taken back",`)
	// A refund that takes nothing back is said where the rewards are.
	require.NotContains(t, b.Get(page).Body, `class="problem`)
	send("purchase", `{"order_id":"8","revenue":"$20"}`)
	send("refund", `{"order_id":"8","revenue":"$5"}`)
	got := b.Get(page).Body
	require.Contains(t, got, `<p class="problem break">Order 8: revenue &#34;$20&#34; is no number`)
	require.Contains(t, got, "A refund was received, too")
}

// What users entered is shown as text.
func TestPages_EscapeWhatUsersEntered(t *testing.T) {
	t.Parallel()
	w, b := newWorld(t)
	const attack = `"><script>alert(1)</script>`
	identify(t, w, "ben", attack, attack, "ANNA10", portaltest.Paid)
	r := of(t, w, "ben")
	for _, path := range []string{
		"", "?person=" + url.QueryEscape(attack), "?code=" + url.QueryEscape(attack), "?before=" + url.QueryEscape(attack), "/" + r.ID,
		"/moderate?action=DENIED&referral=" + r.ID + "&next=" + url.QueryEscape(attack), "/" + r.ID + "/rewards/" + r.ReferrerReward.ID, "/" + url.PathEscape(attack),
	} {
		require.NotContains(t, b.Get(section+path).Body, "<script>alert", path)
	}
}

// A page takes as many statements for 40 referrals as for 4.
func TestPages_StatementsDoNotGrow(t *testing.T) {
	t.Parallel()
	w, b := newWorld(t)
	add := func(from, to int) {
		for i := from; i < to; i++ {
			identify(t, w, fmt.Sprint("f", i), "F", fmt.Sprint(i), "ANNA10", portaltest.Paid)
		}
	}
	add(0, 4)
	id := of(t, w, "f0").ID
	b.SameStatements(t, w.CountStatements(), []string{
		section, section + "?code=ANNA10", section + "?person=anna@shop.example", section + "/" + id, section + "/moderate?action=DENIED&referral=" + id,
	}, func() { add(4, 40) })
}
