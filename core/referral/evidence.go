package referral

import (
	"slices"
	"strings"

	"kith/core"
)

// More than RateMost referrals of one referrer within RateWindow are a sign of
// fraud in each of them (reference, 5).
const (
	RateMost   = 3
	RateWindow = 30 * core.Minute
)

// RewardDay is the time in which FraudPolicy.DailyRewards counts.
const RewardDay = core.Day

// Certain is the score of what is no longer a sign but a fact. It denies,
// whatever a program says.
const Certain = 100

// Finding is one sign of fraud in one referral.
type Finding struct {
	Signal  Signal
	Message string
	// Score is how strong the sign is, 0 to 100; see Certain.
	//
	// Spec silent: the reference shows 50 for two users at one address; the
	// others are set beside it.
	Score int64
}

// Evidence is all that signs of fraud depend on. What is not known yet is zero
// and gives no sign.
type Evidence struct {
	Referrer, Referred User
	// TempEmail is true when a list beyond ours has the domain of the referred
	// side's address.
	TempEmail bool
	// Recent is how many referrals of the referrer began within RateWindow, this
	// one among them.
	Recent int
	// RewardsToday is how many rewards of the program the referrer has got within
	// RewardDay, and DailyRewards how many are no sign; zero is any number.
	RewardsToday, DailyRewards int64
}

// Findings returns the signs of fraud, in the order of their signals.
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
	add(a.Blocked != 0, SignalBlocked, Certain, "The referrer is blocked")
	add(a.Blocked == 0 && b.Blocked != 0, SignalBlocked, Certain, "The referred user is blocked")
	return out
}

// sameName compares full names, whatever the case, the blanks and the order of
// their parts. One part alone is shared by too many.
func sameName(a, b User) bool {
	x, y := nameParts(a), nameParts(b)
	return len(x) > 1 && slices.Equal(x, y)
}

func nameParts(u User) []string {
	parts := strings.Fields(strings.ToLower(u.FirstName + " " + u.LastName))
	slices.Sort(parts)
	return parts
}

// similarEmail compares what stands before the "@", without a "+tag" and
// without dots: the same person at another domain. What every company has there
// is nobody's name.
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

// sameIP compares where the two were first and last seen.
func sameIP(a, b User) bool {
	for _, x := range []string{a.FirstSeenIP, a.LastSeenIP} {
		if x != "" && (x == b.FirstSeenIP || x == b.LastSeenIP) {
			return true
		}
	}
	return false
}
