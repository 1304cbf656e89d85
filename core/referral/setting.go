package referral

import (
	"strings"

	"kith/core"
)

// Setting is a value of a program that people set. By its row the API reads, writes and
// documents it, the portal has a field for it, and Describe a sentence. The name, rewards and
// invitations are no settings of this kind.
type Setting struct {
	// Path is its name: its place in the JSON of a program, such as limits.rewards.
	Path  string
	Unset Unset
	// At returns the pointer to the value in a program. Its type says what the value is.
	At func(*Program) any
	// API describes it in the OpenAPI document, unless that does so itself. Most is the bound
	// that the document names: of a number, of a text's bytes, or of a list's elements.
	API  string
	Most int
	// Label and Hint describe its field in the form. Wide is true if the field has a line of
	// its own, Basic if the form of a new program has it too.
	Label, Hint string
	Wide, Basic bool
	// Says returns the sentence of Describe about it, or "". It is nil if a sentence about
	// several settings has it.
	Says func(Program) string
}

// Unset says how a value is shown that is empty or 0.
type Unset int

const (
	// AsItIs shows it like any other.
	AsItIs Unset = iota
	// AsNull shows null: there is none. A number that a person enters must be more than 0.
	AsNull
	// LeftOut shows nothing.
	LeftOut
)

// Settings returns the settings in the order in which they are shown. The caller must not
// change them.
func Settings() []Setting { return settings }

// SettingsOf returns the settings of an object of a program, such as limits.
func SettingsOf(object string) (all []Setting) {
	for _, s := range settings {
		if s.Object() == object {
			all = append(all, s)
		}
	}
	return all
}

// Object returns the object of a program that has the setting, such as limits.
func (s Setting) Object() string {
	object, _, _ := strings.Cut(s.Path, ".")
	return object
}

// Key returns the key of the setting in its object.
func (s Setting) Key() string { return strings.TrimPrefix(s.Path, s.Object()+".") }

var settings = []Setting{
	{
		Path: "sharing.url", At: func(p *Program) any { return &p.LandingURL },
		Label: "Landing page", Basic: true, Hint: "Where a friend arrives who follows a share link, such as https://shop.example/welcome.",
	},
	{
		Path: "sharing.allowedHosts", At: func(p *Program) any { return &p.AllowedHosts },
		API: "More hosts that `rsLandingPage` of a share link may name.", Most: MaxAllowedHosts,
		Label: "Other hosts", Wide: true,
		Hint: "Hosts besides that of the landing page to which a share link may lead, one in each line, such as blog.shop.example.",
	},
	{
		Path: "sharing.cookieExpiryDuration", At: func(p *Program) any { return &p.CookieLife },
		API:   "Lifetime of the attribution cookie as ISO 8601, 1 second to 400 days. Default: P30D.",
		Label: "Attribution window", Wide: true,
		Hint: "How long after a visit a sign-up counts as a referral. Browsers keep the cookie for at most 400 days.",
	},
	{
		Path: "sharing.utmSource", Unset: LeftOut, At: func(p *Program) any { return &p.UTMSource },
		API: "The `utm_source` of landing pages. Empty, the default: the share medium of the link in lower case, or `referral`.", Most: MaxUTM,
		Label: "Source (utm_source)",
		Hint:  "Names the source of these visits in the statistics of your site, such as Google Analytics. Empty: the medium of the link, such as facebook, or referral.",
		Says: func(p Program) string {
			return say(p.UTMSource != "", "In the statistics of your site the source of these visits is “"+p.UTMSource+"”.")
		},
	},
	{
		Path: "sharing.utmCampaign", Unset: LeftOut, At: func(p *Program) any { return &p.UTMCampaign },
		API: "The `utm_campaign` of landing pages. Empty, the default: the name of the program.", Most: MaxUTM,
		Label: "Campaign (utm_campaign)",
		Hint:  "Names the campaign of these visits in the statistics of your site. Empty: the name of the program.",
		Says: func(p Program) string {
			return say(p.UTMCampaign != "", "In the statistics of your site their campaign is “"+p.UTMCampaign+"”.")
		},
	},
	{
		Path: "conversion.event", At: func(p *Program) any { return &p.Conversion.Event },
		Label: "Event", Basic: true, Hint: "The key of the event that your shop sends for an order, such as purchase.",
	},
	{
		Path: "conversion.reversalEvent", Unset: AsNull, At: func(p *Program) any { return &p.Conversion.Reversal },
		API:   "Key of the event that takes back the order of the same order_id: in full, or by its field revenue. Default: refund.",
		Most:  128,
		Label: "Event of a refund", Hint: "The event that takes the reward of its order back. Empty: refund.",
	},
	{
		Path: "conversion.conditions", At: func(p *Program) any { return &p.Conversion.Conditions },
		API: "Conditions on fields of the event; all must hold. Each is FIELD OPERATOR VALUE. The operators are =, !=, " +
			"<, <=, >, >=, in and not in; the last two have values in parentheses. Texts are compared without regard to " +
			"case, numbers by value. A condition on a missing field fails. A value with a comma, a parenthesis or " +
			"blanks around it is in double quotes. Conditions that can never hold for one value are refused.",
		Most:  20,
		Label: "Conditions", Wide: true,
		Hint: "All of them must be met, one in each line: a field of the event, a comparison and a value, such as revenue >= 50 or plan in (pro, team).",
	},
	{
		Path: "conversion.withinDuration", Unset: AsNull, At: func(p *Program) any { return &p.Conversion.Within },
		API:   "Longest time from the attribution to the first order, up to P3650D. Default: no limit.",
		Label: "Time limit", Hint: "The longest time between the referral and the order. Empty: no limit.",
	},
	{
		Path: "conversion.beforeDuration", At: func(p *Program) any { return &p.Conversion.Before },
		API:   "How long before the attribution the first order of the account may be placed, up to P1D; PT0S: not before it. Default: PT10M.",
		Label: "Order before the referral", Hint: "How long before the referral the account's first order may be placed. Empty: 10 minutes; 0: not before it.",
		Says: func(p Program) string {
			return say(p.Conversion.Before != 0, "The account's first order also counts if it was placed at most "+core.InWords(p.Conversion.Before)+" before the referral.")
		},
	},
	{
		Path: "conversion.firstEvent", At: func(p *Program) any { return &p.Conversion.FirstEvent },
		API:   "Whether the order that converts must be the first event of this key that the account ever had. Default: false.",
		Label: "New customers only", Hint: "The account must never have had this event before.",
		Says: func(p Program) string {
			return say(p.Conversion.FirstEvent, "It must be the first event "+quoted(p.Conversion.Event)+" that the account ever had, also before the referral.")
		},
	},
	{
		Path: "limits.rewards", Unset: AsNull, At: func(p *Program) any { return &p.Limits.Total },
		API: "Number of rewards in total. 0: no limit.", Most: maxRewards,
		Label: "Rewards in total", Hint: "The most rewards of one referrer. Empty: no limit.", Wide: true,
		Says: func(p Program) string {
			return say(p.Limits.Total != 0, "A referrer gets at most "+core.Count(p.Limits.Total, "reward")+" in this program.")
		},
	},
	{
		Path: "limits.rewardsInPeriod", Unset: AsNull, At: func(p *Program) any { return &p.Limits.InPeriod },
		API: "Number of rewards within any period of the length `period`. 0: no limit.", Most: maxRewards,
		Label: "Rewards in a period", Hint: "The most rewards of one referrer within the period. Empty: no limit.",
		Says: func(p Program) string {
			return say(p.Limits.InPeriod != 0, "A referrer gets at most "+core.Count(p.Limits.InPeriod, "reward")+" within any "+core.InWords(p.Limits.Period)+".")
		},
	},
	{
		Path: "limits.period", Unset: AsNull, At: func(p *Program) any { return &p.Limits.Period },
		Label: "Period", Hint: "Counted back from each new reward.",
	},
	{
		Path: "limits.discountPercent", Unset: AsNull, At: func(p *Program) any { return &p.Limits.Discount },
		API:   "Highest sum of the user's discounts, in percent.",
		Label: "Sum of discounts", Hint: "The most percent that the discounts of a user add up to. Empty: no limit.",
		Says: func(p Program) string {
			return say(p.Limits.Discount != 0, "The discounts of a user are at most "+p.Limits.Discount.String()+"% together.")
		},
	},
	{
		Path: "fraud.handling", At: func(p *Program) any { return &p.Fraud.Handling },
		API:   "What fraud signals cause. Default: NONE.",
		Label: "A sign of fraud", Hint: "What happens to the rewards of a suspicious referral.",
	},
	{
		Path: "fraud.signals", At: func(p *Program) any { return &p.Fraud.BySignal },
		API:   "Handling of single signals that differs from `handling`.",
		Label: "Single signs",
	},
	{
		Path: "fraud.dailyRewardLimit", Unset: AsNull, At: func(p *Program) any { return &p.Fraud.DailyRewards },
		API: "Rewards in 24 hours above which the signal dailyReferralRewardLimit is raised. 0: no limit.", Most: maxRewards,
		Label: "Daily limit", Hint: "More rewards of a referrer in 24 hours are a sign of fraud. Empty: never.",
		Says: func(p Program) string {
			return say(p.Fraud.DailyRewards != 0, "More than "+core.Count(p.Fraud.DailyRewards, "reward")+" of a referrer in 24 hours are a sign of fraud.")
		},
	},
}

// say returns a sentence if it is true, else "".
func say(isTrue bool, sentence string) string {
	if isTrue {
		return sentence
	}
	return ""
}
