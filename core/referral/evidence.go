package referral

import (
	"slices"
	"strings"

	"kith/core"
)

// More than RateMost referrals of one referrer within RateWindow are a fraud signal
// for each of them (clients 5.7).
const (
	RateMost   = 3
	RateWindow = 30 * core.Minute
)

// RewardDay is the period of FraudPolicy.DailyRewards.
const RewardDay = core.Day

// Certain is the score of proven fraud. It denies the referral, whatever the
// program's policy.
const Certain = 100

// Finding is a fraud signal that was found in a referral.
type Finding struct {
	Signal  Signal
	Message string
	// Score is the strength of the signal, 0 to 100; see Certain.
	//
	// Spec silent: 50 is the score of two users with the same IP address (clients 5.7); the
	// other scores are chosen in relation to it.
	Score int64
}

// Evidence is the data on which fraud signals depend. A zero field gives no signal.
type Evidence struct {
	Referrer, Referred User
	// Mutual is true if the referred account has referred the account of the referrer.
	Mutual bool
	// TempEmail is true if the operator's list of disposable domains has that of the
	// referred user's address.
	TempEmail bool
	// Recent is the number of the referrer's referrals that started within
	// RateWindow, including this one.
	Recent int
	// RewardsToday is the number of rewards of the program that the referrer got
	// within RewardDay. DailyRewards is the limit above which they are a signal; zero
	// means none.
	RewardsToday, DailyRewards int64
}

// Findings returns the fraud signals, in the order of Signals.
func (e Evidence) Findings() []Finding {
	var out []Finding
	add := func(shows bool, s Signal, score int64, message string) {
		if shows {
			out = append(out, Finding{Signal: s, Message: message, Score: score})
		}
	}
	a, b := e.Referrer, e.Referred
	add(sameName(a, b), SignalName, 50, "Referrer and referred have the same name")
	same := sameEmail(a.Email, b.Email)
	add(same, SignalEmail, Certain, "Referrer and referred have the same mailbox")
	add(!same && similarEmail(a.Email, b.Email), SignalEmail, 60, "Referrer and referred have similar e-mail addresses")
	add(e.TempEmail || Disposable(b.Email), SignalTempEmail, 50, "The referred user has a disposable e-mail address")
	add(sameIP(a, b), SignalIP, 50, "Referrer and referred came from the same IP")
	add(e.Recent > RateMost, SignalRate, 70, "The referrer made more than 3 referrals within 30 minutes")
	add(e.DailyRewards > 0 && e.RewardsToday > e.DailyRewards, SignalDailyLimit, 70, "The referrer got more rewards in a day than usual")
	add(e.Mutual, SignalMutual, 80, "Referrer and referred have referred each other")
	add(b.Blocked != 0, SignalBlocked, Certain, "The referred user is blocked")
	add(b.Blocked == 0 && a.Blocked != 0, SignalBlocked, 90, "The referrer is blocked")
	return out
}

// sameName reports whether two full names are the same, ignoring case, blanks and the
// order of their parts. A name with one part is too common to count.
func sameName(a, b User) bool {
	x, y := nameParts(a), nameParts(b)
	return len(x) > 1 && slices.Equal(x, y)
}

func nameParts(u User) []string {
	parts := strings.Fields(strings.ToLower(u.FirstName + " " + u.LastName))
	slices.Sort(parts)
	return parts
}

// similarEmail reports whether two addresses have the same local part, without a
// "+tag" and dots: probably the same person at another domain. It ignores common role
// addresses such as info@.
func similarEmail(a, b string) bool {
	x, y := localPart(a), localPart(b)
	return x != "" && x == y && !slices.Contains(roles, x)
}

var roles = []string{
	"accounting", "accounts", "admin", "billing", "contact", "finance", "hello", "hi", "hostmaster", "info", "invoice",
	"invoices", "mail", "marketing", "me", "office", "postmaster", "root", "sales", "service", "shop", "support", "team",
	"test", "webmaster",
}

func localPart(address string) string {
	local, _, found := strings.Cut(mailbox(address), "@")
	if !found {
		return ""
	}
	return strings.ReplaceAll(local, ".", "")
}

// sameIP reports whether the two have an IP address in common, of those where they
// were first and last seen.
func sameIP(a, b User) bool {
	for _, x := range []string{a.FirstSeenIP, a.LastSeenIP} {
		if x != "" && (x == b.FirstSeenIP || x == b.LastSeenIP) {
			return true
		}
	}
	return false
}
