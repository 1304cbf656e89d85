package shop

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kith/clients/go"
)

// Decision is what Kith decided, in plain words. Good is true if it led to a referral, a
// conversion or a reward.
type Decision struct {
	Text string
	Good bool
}

// sources say where a code was found.
var sources = map[string]string{
	"cookie": "the code of the share link's cookie", "_saasquatch": "the code of the cookie that kith.js set", "cookies": "the code of the cookies that the page sent",
	"referredByCodes": "the code of the form", "referral_code": "the code that the page sent", "applied": "the code that was applied",
	"fields.referral_code": "the code of the order", "fields.attribution": "the agent's checkout", "couponCode": "the code of the coupon",
}

// rules say why a code did not count.
var rules = map[string]string{
	"already-referred":      "the customer was referred by another code before, and the first one counts",
	"paid-while-unreferred": "the customer paid before any code was known",
	"deleted-before":        "the customer's account was deleted, and had paid before",
	"unknown-code":          "no customer has this code",
	"self-referral-account": "the code is the customer's own",
	"self-referral-email":   "the code's owner has the same e-mail address",
	"code-of-blocked-user":  "the code's owner is blocked",
	"not-referable":         "the customer cannot be referred",
	"known-user":            "a cookie counts for a new customer only",
	"cookie-malformed":      "the cookie was changed",
	"cookie-forged":         "the cookie is not signed by this tenant",
	"cookie-expired":        "the cookie has expired",
}

// attributionWords says how the codes of a customer were judged: the one that counts
// first. Each later call of the browser brings the same code again, which is left out.
func attributionWords(found []kith.Attribution) (all []Decision) {
	found = slices.DeleteFunc(slices.Clone(found), func(a kith.Attribution) bool { return a.Rule == "same-code-again" })
	slices.SortStableFunc(found, func(a, b kith.Attribution) int {
		switch {
		case a.Attributed == b.Attributed:
			return 0
		case a.Attributed:
			return -1
		}
		return 1
	})
	for _, a := range found {
		code := ""
		if a.Code != nil {
			code = ": " + *a.Code
		}
		source := sources[a.Source]
		if source == "" {
			source = "a code (" + a.Source + ")"
		}
		if a.Attributed {
			all = append(all, Decision{"Attributed by " + strings.Replace(source, "the code", "the first code", 1) + code + ".", true})
			continue
		}
		why := rules[a.Rule]
		if why == "" {
			why = a.Rule
		}
		all = append(all, Decision{"Not attributed by " + source + code + ": " + why + ".", false})
	}
	return all
}

// referralWords says what became of a customer's referral.
func referralWords(r *kith.Referral, orders []kith.Order, now time.Time) (all []Decision) {
	if r == nil {
		return []Decision{{"No friend referred this customer, so their orders convert nothing.", false}}
	}
	if r.State != "converted" {
		all = append(all, Decision{"The referral has not converted yet: the program waits for an order that counts.", false})
	}
	for _, o := range orders {
		all = append(all, orderWords(o, r, now)...)
	}
	if r.ReferrerModerationStatus != nil && *r.ReferrerModerationStatus == kith.SideStatusPENDING {
		all = append(all, Decision{"A moderator must look at this referral before its rewards are given.", false})
	}
	return all
}

func orderWords(o kith.Order, r *kith.Referral, now time.Time) (all []Decision) {
	revenue := "an unknown amount"
	if o.RevenueInCents != nil {
		revenue = cents(*o.RevenueInCents).decimal()
		if o.Currency != nil {
			revenue += " " + *o.Currency
		}
	}
	name := "order " + o.OrderID
	switch {
	case !o.Counts && o.Reason != nil:
		return []Decision{{upper(name) + " of " + revenue + " does not count. " + sentence(o.Reason.Message), false}}
	case !o.Counts:
		return []Decision{{upper(name) + " of " + revenue + " does not count.", false}}
	case o.Conversion != nil && (o.Number == nil || *o.Number == 1):
		all = append(all, Decision{"Converted: purchase of " + revenue + " (" + name + ").", true})
	default:
		all = append(all, Decision{"Counted: purchase of " + revenue + " (" + name + ").", true})
	}
	if o.RefundedInCents > 0 {
		all = append(all, Decision{"Returned: " + cents(o.RefundedInCents).decimal() + " of it, so that share of each reward is taken back.", false})
	}
	referrer := r.ReferrerUser.FirstName
	if referrer == "" {
		referrer = "the referrer"
	}
	return append(all, rewardWords(upper(referrer), o.Rewards.Referrer, pending(r.ReferrerModerationStatus), now),
		rewardWords("The friend", o.Rewards.Referred, pending(r.ReferredModerationStatus), now))
}

func pending(side *kith.SideStatus) bool { return side != nil && *side == kith.SideStatusPENDING }

// rewardWords says what a side earned by an order; held is true while a moderator has to approve
// it.
func rewardWords(who string, side kith.OrderReward, held bool, now time.Time) Decision {
	w := side.Reward
	switch {
	case w == nil && side.Reason != nil:
		return Decision{who + " earns nothing. " + sentence(side.Reason.Message), false}
	case w == nil:
		return Decision{who + " earns nothing.", false}
	}
	value := valueOf(w)
	switch {
	case w.DateCancelled != nil:
		return Decision{who + " earned " + value + "; it was cancelled.", false}
	case w.ReversedValue != nil && *w.ReversedValue > 0:
		if kept(w) > 0 {
			return Decision{who + " earned " + value + "; the return took back " + credit(w, cents(*w.ReversedValue)) + " of it.", false}
		}
		return Decision{who + " earned " + value + "; the return took it back.", false}
	case held:
		return Decision{who + " earns " + value + ". The reward waits until a moderator approves it.", true}
	case w.DateScheduledFor != nil && time.UnixMilli(*w.DateScheduledFor).After(now):
		return Decision{who + " earns " + value + ". The reward waits until " + day(time.UnixMilli(*w.DateScheduledFor)) + ", when the order can no longer be returned.", true}
	}
	return Decision{who + " earns " + value + ". The reward is available.", true}
}

// kept returns what returns have left of a credit, or 0 for another reward.
func kept(w *kith.Reward) cents {
	if w.AssignedCredit == nil || w.ReversedValue == nil {
		return 0
	}
	return cents(*w.AssignedCredit) - cents(*w.ReversedValue)
}

// credit returns an amount of a credit in its currency.
func credit(w *kith.Reward, amount cents) string {
	switch {
	case w.Unit != "CENTS":
		return fmt.Sprintf("%d %s", amount, w.Unit)
	case w.Currency != nil && *w.Currency != currency:
		return amount.decimal() + " " + *w.Currency
	}
	return amount.String()
}

func valueOf(w *kith.Reward) string {
	switch {
	case w.AssignedCredit != nil && w.Unit == "CENTS":
		return credit(w, cents(*w.AssignedCredit)) + " of credit"
	case w.DiscountPercent != nil:
		return fmt.Sprintf("%g %% off", *w.DiscountPercent)
	case w.AssignedCredit != nil:
		return fmt.Sprintf("%d %s", *w.AssignedCredit, w.Unit)
	}
	return "a reward"
}

// friendWords says what became of a friend, and of what the friend's orders earned.
func friendWords(r kith.Referral, orders []kith.Order, now time.Time) string {
	var all []string
	for _, o := range slices.Backward(orders) { // the latest is first
		if w := o.Rewards.Referrer.Reward; w != nil {
			all = append(all, rewardOf(r, w, now))
		}
	}
	if len(all) == 0 {
		return rewardOf(r, r.ReferrerReward, now)
	}
	return strings.Join(all, "; ")
}

// rewardOf says what became of one reward for a friend, or of the friend without one.
func rewardOf(r kith.Referral, w *kith.Reward, now time.Time) string {
	switch {
	case r.ModerationStatus == kith.ReferralModerationStatusPENDING:
		return "a moderator looks at it"
	case r.State != "converted":
		return "joined, and has not bought yet"
	case w == nil:
		return "bought"
	case w.DateCancelled != nil:
		return "bought; the reward was cancelled"
	case kept(w) > 0 && *w.ReversedValue > 0:
		return "bought, and returned a part: " + credit(w, kept(w)) + " of credit"
	case w.ReversedValue != nil && *w.ReversedValue > 0:
		return "bought and returned it"
	case w.DateScheduledFor != nil && time.UnixMilli(*w.DateScheduledFor).After(now):
		return "bought: " + valueOf(w) + " from " + day(time.UnixMilli(*w.DateScheduledFor))
	default:
		return "bought: " + valueOf(w)
	}
}

func day(t time.Time) string { return t.UTC().Format("January 2, 2006") }

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// sentence ends a text with a full stop.
func sentence(text string) string { return strings.TrimSuffix(text, ".") + "." }
