package referrals

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"kith/backend/app/admin"
	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/operation"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/timeline"
)

// story is the data of the page of a referral.
type story struct {
	timeline.Facts
	Entries []timeline.Entry
	Answers [2]timeline.Answer
	Summary timeline.Sentence
	// May is true if the caller may decide about the referral and its rewards.
	May bool
	// ApproveAny and DenyAny are true if a decision would change a side.
	ApproveAny, DenyAny bool
}

func referralPage(v *frame.Visit) error {
	facts, err := v.Engine.Referrals.Timeline(v.Ctx(), v.Caller.Tenant, v.R.PathValue("id"))
	if err != nil {
		return missing(err)
	}
	r := facts.Referral
	differs := func(status referral.SideStatus) bool {
		return r.Moderation.Referrer.Status != status || r.Moderation.Referred.Status != status
	}
	slices.SortFunc(facts.Rewards, func(a, b reward.Reward) int {
		return cmp.Or(strings.Compare(string(a.Source), string(b.Source)), cmp.Compare(a.Created, b.Created), strings.Compare(a.ID, b.ID))
	})
	data := story{
		Facts: facts, Entries: timeline.Of(facts), Answers: timeline.Answers(facts), Summary: timeline.Summary(facts),
		May: v.May(operation.Moderate), ApproveAny: differs(referral.SideApproved), DenyAny: differs(referral.SideDenied),
	}
	return v.Page(http.StatusOK, "referral", who(r.Referrer, r.ReferrerProfile)+" → "+who(r.Referred, r.ReferredProfile), data)
}

// missing returns the error of a referral or reward that does not exist as a page says it.
func missing(err error) error {
	if known, ok := err.(*core.Error); ok && known.Code == core.CodeNotFound {
		return core.NotFound("This referral or reward does not exist any more. It may have been removed with a user.")
	}
	return err
}

// Cancellable reports whether a reward can be cancelled by hand.
func (s story) Cancellable(w reward.Reward) bool {
	return s.May && frame.Cancellable(w, s.Now)
}

// OwnerOf returns the name of the owner of a reward.
func (s story) OwnerOf(w reward.Reward) string {
	if w.Source == reward.FriendSignup {
		return s.Referrer()
	}
	return s.Referred()
}

// sideName returns the moderation of a side as a word.
func sideName(s referral.Side) string { return strings.ToLower(string(s.Status)) }

// Future reports whether an entry has not happened yet.
func (s story) Future(e timeline.Entry) bool { return e.At > s.Now }

// kindName returns the kind of an entry as people read it.
func kindName(k timeline.Kind) string {
	return strings.ToUpper(string(k[:1])) + string(k[1:])
}

// decision is the data of the page that confirms a decision about referrals.
type decision struct {
	*frame.Form
	Action    referral.Action
	Referrals []referral.Referral
	// Changed are those that have changed since the visitor saw them.
	Changed []referral.Referral
	Now     core.Time
	Back    string
}

// Deny reports whether the decision is a denial.
func (d decision) Deny() bool { return strings.HasSuffix(string(d.Action), "DENIED") }

// Side returns the only side that the decision is about, or "".
func (d decision) Side() string {
	side, _, ok := strings.Cut(string(d.Action), "_")
	if !ok {
		return ""
	}
	return strings.ToLower(side)
}

// Rewards returns the rewards that the decision is about.
func (d decision) Rewards(r referral.Referral) (all []reward.Reward) {
	if w := r.ReferrerReward; w != nil && d.Side() != "referred" {
		all = append(all, *w)
	}
	if w := r.ReferredReward; w != nil && d.Side() != "referrer" {
		all = append(all, *w)
	}
	return all
}

// Further returns how many rewards that are worth something a side has besides its first.
func (decision) Further(r referral.Referral, first reward.Reward) (n int64) {
	for _, g := range r.Groups {
		if g.Source == first.Source {
			n += g.Count
		}
	}
	if first.Offer.Value() > 0 {
		n--
	}
	return max(0, n)
}

// Effect returns what the decision does to a reward.
func (d decision) Effect(w reward.Reward) string {
	status := w.Status(d.Now)
	open := status == reward.StatusPending || status == reward.StatusAvailable
	pretty := func(amount int64) string {
		return reward.Pretty(amount, w.Offer.Unit, w.Offer.Currency, reward.UnitFormatted)
	}
	switch {
	case d.Deny() && open:
		return pretty(w.Left()) + " is cancelled"
	case !d.Deny() && w.Denied:
		return pretty(w.Sums.Cancelled) + " is given again"
	case !d.Deny() && w.Held && w.Blocked == 0 && open:
		return pretty(w.Left()) + " is released"
	}
	return pretty(w.Net()) + " stays " + strings.ToLower(frame.RewardStatus(w, d.Now))
}

// Seen is what a form sends about a referral: its id, and when it had changed last.
func (decision) Seen(r referral.Referral) string {
	return r.ID + "@" + strconv.FormatInt(int64(r.Modified), 10)
}

func moderatePage(v *frame.Visit) error {
	if err := operation.Moderate.Require(v.Caller); err != nil {
		return err
	}
	return showDecision(v, v.NewForm(), v.R.URL.Query()["referral"])
}

// showDecision asks for the confirmation of a decision about referrals.
func showDecision(v *frame.Visit, f *frame.Form, ids []string) error {
	action, err := referral.ParseAction("action", f.Value("action"))
	if err != nil {
		return core.NotFound("The address of this page has no decision. Open the referral again and choose one.")
	}
	if len(ids) > referral.MaxModerations {
		ids = ids[:referral.MaxModerations]
	}
	found, err := v.Engine.Referrals.ListWithGroups(v.Ctx(), v.Caller.Tenant, ids)
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b referral.Referral) int { return slices.Index(ids, a.ID) - slices.Index(ids, b.ID) })
	data := decision{Form: f, Action: action, Referrals: found, Now: v.Engine.Now(), Back: v.SectionPath()}
	for _, r := range found {
		if sent := v.R.PostForm["referral"]; f.Failed() && !slices.Contains(sent, data.Seen(r)) {
			data.Changed = append(data.Changed, r)
		}
	}
	if len(ids) == 0 && !f.Failed() {
		f.Refuse(core.Invalid("referral", "no referral is chosen; go back and choose at least one"), nil)
	}
	if len(found) == 1 {
		data.Back += "/" + found[0].ID
	} else {
		data.Back = v.Next(v.SectionPath() + "?moderation=PENDING")
	}
	if len(found) == 0 {
		return v.Page(f.Status(), "moderate", "No referral is chosen", data)
	}
	title := "Approve "
	if data.Deny() {
		title = "Deny "
	}
	switch {
	case data.Side() == "referrer":
		title += "the reward of the referrer"
	case data.Side() == "referred":
		title += "the reward of the friend"
	case len(found) == 1:
		title += "the referral"
	default:
		title += strconv.Itoa(len(found)) + " referrals"
	}
	return v.Page(f.Status(), "moderate", title, data)
}

func moderate(v *frame.Visit) error {
	f := v.NewForm()
	var chosen []admin.Chosen
	var ids []string
	for _, one := range v.R.PostForm["referral"] {
		id, seen, _ := strings.Cut(one, "@")
		at, _ := strconv.ParseInt(seen, 10, 62)
		chosen, ids = append(chosen, admin.Chosen{ID: id, Seen: core.Time(at)}), append(ids, id)
	}
	action := referral.Action(f.Value("action"))
	err := v.Engine.Admin.Referrals.Moderate(v.Ctx(), v.Caller, action, f.Value("reason"), chosen)
	if err != nil {
		if !f.Refuse(err, map[string]string{"reason": "The reason"}) {
			return missing(err)
		}
		return showDecision(v, f, ids)
	}
	to := v.SectionPath() + "?moderation=PENDING"
	if len(ids) == 1 {
		to = v.SectionPath() + "/" + ids[0]
	}
	if strings.HasSuffix(string(action), "DENIED") {
		return v.Done(to, "referrals-denied")
	}
	return v.Done(to, "referrals-approved")
}

func cancelPage(v *frame.Visit) error {
	if err := operation.Moderate.Require(v.Caller); err != nil {
		return err
	}
	return showCancellation(v, v.NewForm())
}

func showCancellation(v *frame.Visit, f *frame.Form) error {
	facts, err := v.Engine.Referrals.Timeline(v.Ctx(), v.Caller.Tenant, v.R.PathValue("id"))
	if err != nil {
		return missing(err)
	}
	i := slices.IndexFunc(facts.Rewards, func(w reward.Reward) bool { return w.ID == v.R.PathValue("reward") })
	if i < 0 {
		return core.NotFound("The referral has no such reward. Open the referral again.")
	}
	w := facts.Rewards[i]
	return v.Page(f.Status(), "cancel", "Cancel a reward", frame.Cancellation{
		Form: f, Reward: w, Now: facts.Now, Owner: story{Facts: facts}.OwnerOf(w), Path: v.SectionPath() + "/" + facts.Referral.ID, Title: "The referral",
	})
}

func cancel(v *frame.Visit) error {
	f := v.NewForm()
	err := v.CancelReward(f)
	if err == nil {
		return v.Done(v.SectionPath()+"/"+v.R.PathValue("id"), "reward-cancelled")
	}
	return f.Again(v, missing(err), map[string]string{"reason": "The reason"}, showCancellation)
}
