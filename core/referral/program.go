package referral

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"kith/core"
	"kith/core/conversion"
	"kith/core/link"
	"kith/core/reward"
	"kith/core/text"
)

// Limits of programs. Every user gets a code in each program, so a tenant has few
// programs.
const (
	MaxPrograms     = 50
	MaxAllowedHosts = 50
	// MaxUTM is the most bytes of link.Program.UTMSource and UTMCampaign.
	MaxUTM         = 100
	maxProgramName = 200
	// MaxCookieLife is the longest life that browsers allow for a cookie.
	MaxCookieLife = 400 * core.Day
	maxRewards    = 1_000_000
	maxPeriod     = 3650 * core.Day
	maxUnit       = 64
)

// Program is a referral program of a tenant.
type Program struct {
	link.Program
	// Name is shown to people; the default is the key.
	Name string
	// Referred is the reward of the referred side. If it is a percentage, a code
	// lookup returns it too (spec 2.9).
	Referred reward.Offer
	// Referrer is the reward of the owner of the code.
	Referrer reward.Offer
	// ReferredTerms and ReferrerTerms are further terms of these rewards.
	ReferredTerms, ReferrerTerms conversion.Terms
	// Conversion says what converts a referral.
	Conversion conversion.Rule
	// MoneyBack is for how long after the first payment a refund of all of it takes the
	// rewards of both sides back, if the first PAID converts: 0 to MaxMoneyBack, of which 0
	// is never, or KeepMoneyBack.
	MoneyBack core.Time
	// Limits limit the rewards of one referrer.
	Limits Limits
	// Fraud is the handling of fraud signals.
	Fraud FraudPolicy
	// Invitations are the program's own texts that users send to friends, by language.
	// Other languages have the default text.
	Invitations map[text.Tag]text.Invitation
	// Created and Modified are set by the store.
	Created, Modified core.Time
}

// Limits limit the rewards of one referrer in a program; zero means no limit. A
// referral beyond the limits still converts, and its referred side is rewarded.
type Limits struct {
	// Total is the most rewards in total.
	Total int64
	// InPeriod is the most rewards within any Period; both are set or neither.
	InPeriod int64
	Period   core.Time
	// Discount is the largest sum of a user's percentage discounts of the program
	// (clients 5.2).
	Discount reward.BasisPoints
}

// The money-back window of a program.
const (
	// MaxMoneyBack is the longest window.
	MaxMoneyBack = 365 * core.Day
	// DefaultMoneyBack is that of new programs.
	DefaultMoneyBack = 30 * core.Day
	// KeepMoneyBack is the value of a program that was read without a window: a new program
	// then gets the default, and a stored one keeps its own.
	KeepMoneyBack core.Time = -1
)

// NewProgram returns a program with the defaults: cookies live for
// link.DefaultCookieLife, there are no rewards, and fraud signals have no effect
// (clients 5.6: no action is the default).
func NewProgram(key core.ProgramKey) Program {
	return Program{
		Program: link.Program{Key: key, CookieLife: link.DefaultCookieLife},
		Name:    string(key), Fraud: FraudPolicy{Handling: HandleNone}, MoneyBack: KeepMoneyBack,
	}
}

// DefaultProgram returns the program of a new tenant: 10 % off for the friend, and a
// credit of 10.00 USD for the referrer.
func DefaultProgram(landingURL string) Program {
	p := NewProgram(core.ClassicProgram)
	p.LandingURL, p.Name = landingURL, "Refer a friend"
	p.Referred = reward.Offer{Kind: reward.PercentDiscount, Percent: 1000}
	p.Referrer = reward.Offer{Kind: reward.Credit, Amount: 1000, Currency: DefaultCurrency}
	return p
}

// SetDefaults sets the settings of a parsed program that depend on others: an event that
// reverses orders, if an event converts; it needs no money-back window. Orders has its default 1; without such an event
// that says nothing, so it is removed.
func (p *Program) SetDefaults() {
	if p.Conversion.ByEvent() {
		p.Conversion.Reversal = cmp.Or(p.Conversion.Reversal, conversion.DefaultReversal)
		p.MoneyBack = KeepMoneyBack
	}
	for _, side := range []struct {
		offer *reward.Offer
		terms *conversion.Terms
	}{{&p.Referrer, &p.ReferrerTerms}, {&p.Referred, &p.ReferredTerms}} {
		if side.terms.Orders == 1 && (!p.Conversion.ByEvent() || side.offer.None()) {
			side.terms.Orders = 0
		}
	}
}

// Check returns an error about the first invalid setting, with its name in the API.
func (p Program) Check() error {
	if _, err := core.ParseProgramKey("id", string(p.Key)); err != nil {
		return err
	}
	if p.Name == "" || len(p.Name) > maxProgramName || !utf8.ValidString(p.Name) {
		return core.Invalid("name", "must be 1 to 200 bytes")
	}
	if err := checkSharing(p.Program); err != nil {
		return err
	}
	if p.MoneyBack < KeepMoneyBack || p.MoneyBack > MaxMoneyBack {
		return core.Invalid("rewards.moneyBackDuration", "must be 0 to 365 days; 0 is never, and left out, it stays as it is")
	}
	for _, err := range []error{
		p.Conversion.Check(), p.checkEarning("rewards.referrer", p.Earning(ReferrerSide)), p.checkEarning("rewards.referred", p.Earning(ReferredSide)),
		p.Limits.check(), p.checkPeriod(), p.Fraud.check(),
		checkInvitations(p.Invitations),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkInvitations returns an error about the first invalid invitation, in the order of
// the languages.
func checkInvitations(all map[text.Tag]text.Invitation) error {
	if len(all) > text.MaxInvitations {
		return core.Invalid("invitations", "must not have more than "+strconv.Itoa(text.MaxInvitations)+" languages")
	}
	for _, tag := range InvitationTags(all) {
		at := "invitations." + string(tag)
		if text.TagOf(string(tag)) != tag {
			return core.Invalid(at, "must be a locale such as en or pt-BR")
		}
		if err := all[tag].Check(at); err != nil {
			return err
		}
	}
	return nil
}

// Invite returns the text that a user sends to a friend, in the first of the wanted
// languages that exists, and its language.
func (p Program) Invite(wanted []text.Tag) (text.Invitation, text.Tag) {
	return text.Invite(wanted, p.Invitations, p.LandingURL, p.Name, p.Described(ReferredSide))
}

// Described returns what a side earns, as far as people are informed about it.
func (p Program) Described(side SideKey) text.Offer {
	o := text.OfEarning(p.Earning(side), p.Conversion.ByEvent())
	o.LeastOrder, o.OrderCurrency = p.Conversion.LeastRevenue()
	if side == ReferrerSide {
		o.MostRewards = int(p.Limits.Total)
	}
	return o
}

// InvitationTags returns the languages of invitations in alphabetical order.
func InvitationTags(all map[text.Tag]text.Invitation) []text.Tag {
	tags := make([]text.Tag, 0, len(all))
	for tag := range all {
		tags = append(tags, tag)
	}
	slices.Sort(tags)
	return tags
}

func checkSharing(p link.Program) error {
	if !link.ValidLandingURL(p.LandingURL) {
		return core.Invalid("sharing.url", "must be an absolute http or https URL").InForm("must be an address that begins with https:// or http://")
	}
	if len(p.AllowedHosts) > MaxAllowedHosts {
		return core.TooMany("sharing.allowedHosts", MaxAllowedHosts)
	}
	for i, host := range p.AllowedHosts {
		if !validHost(host) {
			return core.Invalid("sharing.allowedHosts["+strconv.Itoa(i)+"]", "must be a host such as shop.example or shop.example:8443")
		}
	}
	if p.CookieLife < core.Second || p.CookieLife > MaxCookieLife {
		return core.Invalid("sharing.cookieExpiryDuration", "must be PT1S to P400D; browsers keep cookies for at most 400 days").InForm("must be 1 second to 400 days")
	}
	for field, text := range map[string]string{"sharing.utmSource": p.UTMSource, "sharing.utmCampaign": p.UTMCampaign} {
		if len(text) > MaxUTM || !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }) || core.Trim(text) != text {
			return core.Invalid(field, "must be at most 100 bytes without blanks around it")
		}
	}
	return nil
}

// validHost reports whether s is a valid host, with or without a port.
func validHost(s string) bool {
	u, err := url.Parse("https://" + s)
	return err == nil && u.Host == s && u.Hostname() != "" && len(s) <= 255 && !strings.ContainsAny(s, "*, ")
}

func (p Program) checkEarning(at string, e conversion.Earning) error {
	if err := checkOffer(at, e.Offer); err != nil {
		return err
	}
	return e.Check(at, p.Conversion.ByEvent())
}

// checkPeriod checks a limit that a late event makes the rules count again.
func (p Program) checkPeriod() error {
	if p.Conversion.ByEvent() && p.Limits.InPeriod > conversion.MaxInPeriod {
		return core.Invalid("limits.rewardsInPeriod", "must be 0 to 1000 with conversion.event; 0 means no limit").InForm("must be at most 1000 if an event converts")
	}
	return nil
}

func checkOffer(at string, o reward.Offer) error {
	if o.Kind == "" {
		return nil
	}
	err := o.Check()
	var known *core.Error
	switch {
	case errors.As(err, &known):
		return core.Invalid(at+"."+offerField(known.Field), known.Message)
	case o.Kind == reward.PercentDiscount && o.Unit != "" && o.Unit != reward.UnitPercent:
		return core.OrUnset(at+".unit", "must be % for PCT_DISCOUNT")
	case len(o.Unit) > maxUnit:
		return core.Invalid(at+".unit", "must not be longer than 64 bytes")
	case len(o.Name) > maxProgramName:
		return core.Invalid(at+".name", "must not be longer than 200 bytes")
	case o.ValidFor < 0 || o.ValidFor > maxPeriod:
		return core.OutsideDuration(at+".expiryDuration", core.Second, maxPeriod, true)
	case o.GivenAfter < 0 || o.GivenAfter > maxPeriod:
		return core.OutsideDuration(at+".scheduleDuration", core.Second, maxPeriod, true)
	}
	return err
}

// offerField returns the name in an offer for a field of a reward.
func offerField(field string) string {
	if field == "assignedCredit" {
		return "credit"
	}
	return field
}

// outsideLimit returns the error about a limit that is not from 0 to most; 0 is none.
func outsideLimit(field string, most int64) *core.Error {
	return core.Invalid(field, "must be 0 to "+strconv.FormatInt(most, 10)+"; 0 means no limit").
		InForm("must be 1 to " + reward.Pretty(most, "", "", reward.NumberFormatted))
}

func (l Limits) check() error {
	switch {
	case l.Total < 0 || l.Total > maxRewards:
		return outsideLimit("limits.rewards", maxRewards)
	case l.InPeriod < 0 || l.InPeriod > maxRewards:
		return outsideLimit("limits.rewardsInPeriod", maxRewards)
	case l.Period < 0 || l.Period > maxPeriod:
		return core.OutsideDuration("limits.period", core.Day, maxPeriod, true)
	case (l.InPeriod == 0) != (l.Period == 0):
		return core.Invalid("limits.period", "must be set together with limits.rewardsInPeriod; give both or neither").InForm("must be given together with “Rewards in a period”: both or neither")
	case l.Discount < 0 || l.Discount > 10000:
		return core.Invalid("limits.discountPercent", "must be 0 to 100; 0 means no limit")
	}
	return nil
}

// SideKey identifies the reward of a side within a program: programRewardKey in the
// reference.
type SideKey string

// The two sides.
const (
	ReferrerSide SideKey = "referrer"
	ReferredSide SideKey = "referred"
)

// ParseSideKey returns s as a side, or an error about field.
func ParseSideKey(field, s string) (SideKey, error) {
	switch side := SideKey(s); side {
	case ReferrerSide, ReferredSide:
		return side, nil
	}
	return "", core.Invalid(field, "must be referrer or referred")
}

// SideOf returns the side that earns rewards of a source.
func SideOf(source reward.Source) SideKey {
	if source == reward.FriendSignup {
		return ReferrerSide
	}
	return ReferredSide
}

// Source returns the source of the rewards that a side earns.
func (s SideKey) Source() reward.Source {
	if s == ReferrerSide {
		return reward.FriendSignup
	}
	return reward.Referred
}

// Earned counts a referrer's rewards in a program that were not cancelled, including
// those that wait for a code of a fuel tank.
type Earned struct {
	Total int64
	// InPeriod counts those within the last Limits.Period.
	InPeriod int64
	// Conversions is the number of the referrer's converted referrals in the program.
	Conversions int64
}

// Reached reports whether a referrer with these rewards has reached a limit.
func (l Limits) Reached(e Earned) bool {
	return l.Total > 0 && e.Total >= l.Total || l.InPeriod > 0 && e.InPeriod >= l.InPeriod
}

// Offer returns the offer for a side.
func (p Program) Offer(side SideKey) reward.Offer {
	if side == ReferrerSide {
		return p.Referrer
	}
	return p.Referred
}

// Earning returns the offer for a side with its terms.
func (p Program) Earning(side SideKey) conversion.Earning {
	if side == ReferrerSide {
		return conversion.Earning{Offer: p.Referrer, Terms: p.ReferrerTerms}
	}
	return conversion.Earning{Offer: p.Referred, Terms: p.ReferredTerms}
}

// Plan returns what the program says about conversion, as the plan that applies from
// since on.
func (p Program) Plan(since core.Time) conversion.Plan {
	return conversion.Plan{
		Since: since, Rule: p.Conversion, Earnings: [2]conversion.Earning{p.Earning(ReferrerSide), p.Earning(ReferredSide)},
		Total: p.Limits.Total, InPeriod: p.Limits.InPeriod, Period: p.Limits.Period,
	}
}

// Unlocks returns the rewards that a conversion at now unlocks, the referrer's first.
// earned is what the referrer had before it. A side whose moderation is pending gets a
// held reward, and a denied side gets none. The caller adds the code to a FuelTank
// reward.
func (p Program) Unlocks(r Referral, earned Earned, now core.Time) []reward.Grant {
	var out []reward.Grant
	give := func(to Identity, side Side, source reward.Source, offer reward.Offer) {
		if offer.None() || to.User == "" || side.Status == SideDenied {
			return
		}
		g := reward.GrantOf(offer, now)
		g.Account, g.User, g.Program, g.Referral, g.Source = to.Account, to.User, p.Key, r.ID, source
		g.Held = side.Status == SidePending
		out = append(out, g)
	}
	if !p.Limits.Reached(earned) {
		give(r.Referrer, r.Moderation.Referrer, reward.FriendSignup, p.Earning(ReferrerSide).At(earned.Conversions+1))
	}
	give(r.Referred, r.Moderation.Referred, reward.Referred, p.Earning(ReferredSide).At(earned.Conversions+1))
	return out
}
