package wire

import (
	"cmp"

	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/reward"
)

// Referrals returns the response to GET /referrals: {count, totalCount, referrals}
// (clients 1.4.1). total is the number of referrals on all pages.
func Referrals(page []referral.Referral, total int) []byte {
	return pageOf("referrals", page, total, appendReferral)
}

// Referral returns the response to GET /referrals/{id}.
func Referral(r referral.Referral) []byte { return appendReferral(nil, r) }

func appendReferral(b []byte, r referral.Referral) []byte {
	w := begin(b)
	w.text("id", r.ID)
	w.text("programId", string(r.Program))
	w.text("state", string(r.State))
	w.text("referralCodeUsed", string(r.Code))
	w.textOrNull("shareLinkUsed", r.ShareLink)
	w.textOrNull("shareMedium", r.ShareMedium)
	w.participant("referrerUser", r.Referrer, r.ReferrerProfile)
	w.participant("referredUser", r.Referred, r.ReferredProfile)
	w.reward("referrerReward", r.ReferrerReward)
	w.reward("referredReward", r.ReferredReward)
	w.moderation(r.Moderation)
	w.referralDates(r)
	return w.end()
}

func (w *writer) participant(name string, who referral.Identity, p referral.Profile) {
	w.object(name, func() {
		w.textOrNull("id", string(who.User))
		w.text("accountId", string(who.Account))
		w.text("firstName", p.FirstName)
		w.text("lastName", p.LastName)
		w.textOrNull("email", who.Email)
		w.text("imageUrl", p.ImageURL)
	})
}

func (w *writer) moderation(m referral.ModerationState) {
	w.text("moderationStatus", m.Status())
	w.text("referrerModerationStatus", string(cmp.Or(m.Referrer.Status, referral.SideApproved)))
	w.text("referredModerationStatus", string(cmp.Or(m.Referred.Status, referral.SideApproved)))
	if len(m.Signals) == 0 {
		w.raw("fraudSignals", "null")
	} else {
		w.raw("fraudSignals", FraudSignals(m.Signals))
	}
}

func (w *writer) referralDates(r referral.Referral) {
	w.date("dateReferralStarted", r.Started)
	w.date("dateReferralPaid", r.Converted)
	w.date("dateConverted", r.Converted)
	w.date("dateReferralEnded", r.Ended)
	w.date("dateModerated", r.Moderation.Moderated)
	w.date("dateModified", r.Modified)
	w.date("dateUserModified", r.Moderation.ByHand)
}

// FraudSignals returns the JSON {signal: {message, score}} (clients 1.4.8).
func FraudSignals(signals []referral.Finding) string {
	w := begin(nil)
	for _, f := range signals {
		w.object(string(f.Signal), func() {
			w.text("message", f.Message)
			w.number("score", f.Score)
		})
	}
	return string(w.end())
}

// ParseFraudSignals parses the result of FraudSignals.
func ParseFraudSignals(text string) (signals []referral.Finding) {
	gjson.Parse(text).ForEach(func(name, f gjson.Result) bool {
		signals = append(signals, referral.Finding{
			Signal: referral.Signal(name.String()), Message: f.Get("message").String(), Score: f.Get("score").Int(),
		})
		return true
	})
	return signals
}

// ReferralEvent returns the data of webhooks about a referral (clients 6.5.10).
func ReferralEvent(r referral.Referral) []byte {
	w := begin(nil)
	w.text("id", r.ID)
	w.text("programId", string(r.Program))
	w.party("referrer", r.Referrer)
	w.party("referred", r.Referred)
	w.text("referralCodeUsed", string(r.Code))
	w.textOrNull("shareLinkUsed", r.ShareLink)
	w.moderation(r.Moderation)
	w.reward("referrerReward", r.ReferrerReward)
	w.reward("referredReward", r.ReferredReward)
	w.referralDates(r)
	return w.end()
}

func (w *writer) party(name string, who referral.Identity) {
	w.object(name, func() {
		w.textOrNull("id", string(who.User))
		w.text("accountId", string(who.Account))
	})
}

// ParseModerations parses the body of POST /referrals/moderate (clients 1.4.3).
func ParseModerations(body []byte) (actions []referral.Moderation, err error) {
	err = object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		return key == "actions" && r.items(key, v, referral.MaxModerations, func(i int, v *fastjson.Value) error {
			m, err := parseModeration(element(key, i), v)
			actions = append(actions, m)
			return err
		})
	})
	if err == nil && len(actions) == 0 {
		err = core.Invalid("actions", "must have at least one element")
	}
	return actions, err
}

func parseModeration(at string, v *fastjson.Value) (m referral.Moderation, err error) {
	err = fields(v, at, func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "referralId":
			return take(r.text, &m.Referral, key, v)
		case "action":
			return setParsed(r, key, v, &m.Action, referral.ParseAction)
		case "reason":
			return setParsed(r, key, v, &m.Reason, people.ParseReason)
		}
		return false
	})
	switch {
	case err != nil:
	case m.Referral == "":
		err = core.Invalid(at+".referralId", "is required")
	case m.Action == "":
		err = core.Invalid(at+".action", "is required")
	}
	return m, err
}

// ByHand is an attribution by hand.
type ByHand struct {
	Code   core.ReferralCode
	Reason string
}

// ParseByHand parses the body that attributes a user by hand: {code, reason}. The code is as
// a person typed it, see link.MeantCode.
func ParseByHand(tenant core.TenantAlias, body []byte) (b ByHand, err error) {
	err = object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "code":
			return setParsed(r, key, v, &b.Code, meantCode(tenant))
		case "reason":
			return setParsed(r, key, v, &b.Reason, people.ParseReason)
		}
		return false
	})
	switch {
	case err != nil:
	case b.Code == "":
		err = core.Invalid("code", "is required")
	case b.Reason == "":
		_, err = people.ParseReason("reason", "")
	}
	return b, err
}

// ParseBlock parses the body that blocks a user: {rewards}. It may be empty, and so is the
// choice then.
func ParseBlock(body []byte) (rewards reward.Block, err error) {
	if len(body) == 0 {
		return "", nil
	}
	err = object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		return key == "rewards" && setParsed(r, key, v, &rewards, reward.ParseBlock)
	})
	return rewards, err
}

// Decision is a stored verdict about a claim. It explains why a user was or was not
// attributed.
type Decision struct {
	ID      string
	Account core.AccountID
	User    core.UserID
	Code    core.ReferralCode
	Source  referral.Source
	Rule    referral.Rule
	// Accepted is true if the claim created a referral.
	Accepted bool
	// Inputs is a JSON object with the inputs of the rule.
	Inputs string
	// Times counts the same verdicts on the same claim, First and Last are the times
	// of the first and the last one.
	Times       int64
	First, Last core.Time
}

// Decisions returns the response to GET /attributions: {count, totalCount,
// attributions}. total is the number of decisions on all pages.
func Decisions(page []Decision, total int) []byte {
	return pageOf("attributions", page, total, appendDecision)
}

// UnknownCodes returns the response to GET /attributions/unknown: {count, unknownCodes}.
func UnknownCodes(all []referral.UnknownCode) []byte {
	w := begin(nil)
	w.number("count", int64(len(all)))
	w.list("unknownCodes", len(all), func(b []byte, i int) []byte {
		w := begin(b)
		w.text("typed", all[i].Typed)
		w.number("people", int64(all[i].People))
		w.date("dateLast", all[i].Last)
		w.text("lastAccountId", string(all[i].LastAccount))
		w.textOrNull("lastUserId", string(all[i].LastUser))
		w.list("meant", len(all[i].Meant), func(b []byte, n int) []byte { return appendString(b, string(all[i].Meant[n])) })
		return w.end()
	})
	return w.end()
}

func appendDecision(b []byte, d Decision) []byte {
	w := begin(b)
	w.text("id", d.ID)
	w.text("accountId", string(d.Account))
	w.textOrNull("userId", string(d.User))
	w.textOrNull("code", string(d.Code))
	w.text("source", string(d.Source))
	w.text("rule", string(d.Rule))
	w.boolean("attributed", d.Accepted)
	w.raw("inputs", d.Inputs)
	w.number("times", d.Times)
	w.date("dateFirst", d.First)
	w.date("dateLast", d.Last)
	return w.end()
}

// DecisionInputs returns the inputs of a rule as JSON, for Decision.Inputs.
func DecisionInputs(before referral.Standing, c referral.Command, v referral.Verdict) string {
	w := begin(nil)
	w.text("referral", string(before.Referral))
	w.textOrNull("referralCode", string(before.Code))
	w.date("firstPaid", before.FirstPaid)
	w.boolean("identified", before.Identified)
	w.boolean("identifies", c.Identify)
	w.boolean("newUser", c.NewUser)
	w.boolean("paid", c.Paid)
	w.boolean("referable", !v.Claim.Unreferable)
	w.boolean("codeKnown", v.Claim.Known)
	w.textOrNull("codeOwnerAccount", string(v.Claim.Owner.Account))
	w.textOrNull("codeOwnerUser", string(v.Claim.Owner.User))
	if v.Claim.OwnerBlocked {
		w.boolean("codeOwnerBlocked", true)
	}
	w.textOrNull("shareMedium", v.Claim.ShareMedium)
	if v.Claim.Reason != "" {
		w.text("reason", v.Claim.Reason)
	}
	return string(w.end())
}

// Timeline is the history of a referral in the words of people, with times in UTC.
type Timeline struct {
	Summary            string
	Referrer, Referred TimelineAnswer
	// Truncated is true if there is more than Entries has.
	Truncated bool
	Entries   []TimelineEntry
}

// TimelineAnswer says why a side has its reward, or has none.
type TimelineAnswer struct{ Tone, Text string }

// TimelineEntry is one event of a timeline. At is zero if its time is not recorded.
type TimelineEntry struct {
	At                       core.Time
	Kind, Tone               string
	Text, Reason, ModifiedBy string
}

// JSON returns the response to GET /referrals/{id}/timeline.
func (t Timeline) JSON() []byte {
	w := begin(nil)
	w.text("summary", t.Summary)
	for _, side := range []struct {
		name   string
		answer TimelineAnswer
	}{{"referrer", t.Referrer}, {"referred", t.Referred}} {
		w.object(side.name, func() {
			w.textOrNull("tone", side.answer.Tone)
			w.text("answer", side.answer.Text)
		})
	}
	w.boolean("truncated", t.Truncated)
	w.list("entries", len(t.Entries), func(b []byte, i int) []byte {
		e, w := t.Entries[i], begin(b)
		w.date("date", e.At)
		w.text("kind", e.Kind)
		w.textOrNull("tone", e.Tone)
		w.text("text", e.Text)
		w.textOrNull("reason", e.Reason)
		w.textOrNull("modifiedBy", e.ModifiedBy)
		return w.end()
	})
	return w.end()
}
