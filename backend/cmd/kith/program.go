package main

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"kith/backend/app"
	"kith/backend/app/members"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/text"
)

type programCommand struct {
	List   programListCommand   `cmd:"" help:"List the programs of a tenant."`
	Show   programShowCommand   `cmd:"" help:"Print all settings of a program."`
	Create programCreateCommand `cmd:"" help:"Create a program. Users get a code in it at their next identification."`
	Update programUpdateCommand `cmd:"" help:"Change settings of a program. Settings that are not given stay as they are."`
	Delete programDeleteCommand `cmd:"" help:"Delete a program that has neither codes nor referrals."`
	Try    programTryCommand    `cmd:"" help:"Explain what an event would cause in a program, and why."`
	Orders programOrdersCommand `cmd:"" help:"Print the orders of a referred account: what each earned, or why it earned nothing."`
	Fill   programFillCommand   `cmd:"" help:"Load codes into the fuel tank of a program: codes that are given out as rewards."`
}

// tenantFlags name the database and a tenant.
type tenantFlags struct {
	databaseFlags
	Tenant core.TenantAlias `required:"" help:"Alias of the tenant." placeholder:"ALIAS"`
}

// openTenant opens the database and returns the use cases. It fails if the tenant does
// not exist.
func (f *tenantFlags) openTenant(e *env) (*app.Engine, error) {
	engine, err := f.open(e)
	if err != nil {
		return nil, err
	}
	if _, err := tenantdb.Find(e.ctx, engine.DB.Reads, f.Tenant); err != nil {
		return nil, errors.Join(err, engine.DB.Close())
	}
	return engine, nil
}

// programFlags are the settings of a program; nil means that the flag is not given.
type programFlags struct {
	Name        *string        `help:"Display name. Default: the key." placeholder:"TEXT"`
	AllowHost   []string       `help:"Host that the parameter rsLandingPage may name, besides that of the landing page. May be repeated; 'none' removes all." placeholder:"HOST"`
	CookieLife  *time.Duration `help:"Lifetime of the attribution cookie. Default: 720h." placeholder:"DURATION"`
	UTMSource   *string        `help:"Source of the visits (utm_source) in the statistics of the shop. Default: the medium of the link, such as facebook, or referral." placeholder:"TEXT"`
	UTMCampaign *string        `help:"Campaign of the visits (utm_campaign) in the statistics of the shop. Default: the name." placeholder:"TEXT"`

	ReferrerReward     *string  `help:"What the referrer earns: 'none', a percentage such as '10%', an amount such as '10.00 USD' or '2 months', or a percentage of each order such as '10% of revenue'. A code from a fuel tank is 'FUELTANK 10%', a reward given by another system 'INTEGRATION 25.00 USD'. Default: none." placeholder:"REWARD"`
	ReferrerExpiryDays *int64   `help:"Days after which the referrer's reward expires; 0 is never. Default: 0." placeholder:"DAYS"`
	ReferrerMin        *string  `help:"Least amount of a percentage of the revenue, such as '1.00 USD'; 'none' removes it. Default: none." placeholder:"AMOUNT"`
	ReferrerMax        *string  `help:"Highest amount of a percentage of the revenue, such as '50.00 USD'; 'none' removes it. Default: none." placeholder:"AMOUNT"`
	ReferrerTier       []string `sep:"none" help:"Another value from a number of conversions of the referrer on, such as '5=15%'. May be repeated; 'none' removes all." placeholder:"N=REWARD"`
	ReferrerOrders     *string  `help:"How many orders of a referral earn the referrer's reward: a number, or 'all', of which a discount is given once. Default: 1." placeholder:"N"`
	ReferrerMonths     *int64   `help:"How many months after the first order further orders earn the referrer's reward; 0 is no limit. Default: 0." placeholder:"MONTHS"`
	ReferrerDelayDays  *int64   `help:"Days before the referrer's reward can be redeemed, such as a return window of 30; 0 is none. Default: 0." placeholder:"DAYS"`
	ReferredReward     *string  `help:"What the referred user earns, in the same form. If it is a percentage, code look-ups show it. Default: none." placeholder:"REWARD"`
	ReferredExpiryDays *int64   `help:"Days after which the referred user's reward expires; 0 is never. Default: 0." placeholder:"DAYS"`
	ReferredMin        *string  `help:"Least amount of a percentage of the revenue, such as '1.00 USD'; 'none' removes it. Default: none." placeholder:"AMOUNT"`
	ReferredMax        *string  `help:"Highest amount of a percentage of the revenue, such as '50.00 USD'; 'none' removes it. Default: none." placeholder:"AMOUNT"`
	ReferredTier       []string `sep:"none" help:"Another value from a number of conversions of the referrer on, such as '5=15%'. May be repeated; 'none' removes all." placeholder:"N=REWARD"`
	ReferredOrders     *string  `help:"How many orders of a referral earn the referred user's reward: a number, or 'all', of which a discount is given once. Default: 1." placeholder:"N"`
	ReferredMonths     *int64   `help:"How many months after the first order further orders earn the referred user's reward; 0 is no limit. Default: 0." placeholder:"MONTHS"`
	ReferredDelayDays  *int64   `help:"Days before the referred user's reward can be redeemed, such as a return window of 30; 0 is none. Default: 0." placeholder:"DAYS"`

	conversionFlags

	MoneyBack *time.Duration `help:"Without --convert-event: for how long after the first payment a refund of all of it takes the rewards of both sides back, up to 8760h; 0s is never. Default: 720h." placeholder:"DURATION"`

	MaxRewards         *int64         `help:"Most rewards of one referrer in total; 0 is no limit. Default: 0." placeholder:"N"`
	MaxRewardsInPeriod *int64         `help:"Most rewards of one referrer within --period; 0 is no limit. Default: 0." placeholder:"N"`
	Period             *time.Duration `help:"Period of --max-rewards-in-period, such as 720h." placeholder:"DURATION"`
	MaxDiscount        *string        `help:"Largest sum of a user's percentage discounts, such as '50%'; '0%' is no limit. Default: 0%." placeholder:"PERCENT"`

	Fraud             *string           `help:"What happens to a referral that looks like fraud: none, pending (rewards wait for moderation) or deny. Default: none." placeholder:"HANDLING"`
	FraudSignal       map[string]string `help:"What happens on one fraud signal, such as ip=pending. Signals: name, email, tempEmail, ip, rate, dailyReferralRewardLimit and mutualReferral (default: pending). May be repeated; 'default' means as --fraud." placeholder:"SIGNAL=HANDLING"`
	InvitationSubject map[string]string `mapsep:"none" help:"Subject of the invitation that users send to friends, in a language, such as 'de=Schau mal'. {shop}, {program} and {reward} are replaced. May be repeated." placeholder:"LOCALE=TEXT"`
	InvitationMessage map[string]string `mapsep:"none" help:"Text of the invitation, in front of the share link. A language needs both. May be repeated." placeholder:"LOCALE=TEXT"`
	DefaultInvitation []string          `sep:"none" help:"Language whose invitation becomes the default text again. May be repeated." placeholder:"LOCALE"`

	DailyRewards *int64 `help:"Rewards of one referrer within 24 hours above which the signal dailyReferralRewardLimit is set; 0 is never. Default: 0." placeholder:"N"`
}

type programListCommand struct{ tenantFlags }

// Run lists the programs.
func (c *programListCommand) Run(e *env) error {
	engine, err := c.openTenant(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	programs, err := engine.Programs.List(e.ctx, c.Tenant)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "key\tname\treferrer earns\treferred earns\tlanding page")
	for _, p := range programs {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", p.Key, p.Name, offerText(p.Referrer), offerText(p.Referred), p.LandingURL)
	}
	return w.Flush()
}

type programShowCommand struct {
	tenantFlags
	Key core.ProgramKey `arg:"" help:"Key of the program."`
}

// Run prints the settings of a program.
func (c *programShowCommand) Run(e *env) error {
	engine, err := c.openTenant(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	p, err := engine.Programs.ByKey(e.ctx, c.Tenant, c.Key)
	if err != nil {
		return err
	}
	if err := showProgram(e.out, p); err != nil {
		return err
	}
	for _, side := range []referral.SideKey{referral.ReferrerSide, referral.ReferredSide} {
		if p.Offer(side).Kind != reward.FuelTank {
			continue
		}
		tank, err := engine.FuelTanks.Level(e.ctx, c.Tenant, c.Key, side)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.out, "fuel tank of %s     %s\n", side, tankText(tank))
	}
	return nil
}

type programCreateCommand struct {
	tenantFlags
	programFlags
	Key        core.ProgramKey `arg:"" help:"Key of the program: 1 to 64 of A-Z a-z 0-9 -."`
	LandingURL string          `required:"" help:"Page that share links lead to." placeholder:"URL"`
}

// Run creates a program and prints it.
func (c *programCreateCommand) Run(e *env) error {
	p := referral.NewProgram(c.Key)
	p.LandingURL = c.LandingURL
	if err := c.apply(&p); err != nil {
		return err
	}
	engine, err := c.openTenant(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	if p, err = engine.Admin.Programs.Create(e.ctx, members.OperatorOf(c.Tenant), p); err != nil {
		return asFlag(err)
	}
	return showProgram(e.out, p)
}

type programUpdateCommand struct {
	tenantFlags
	programFlags
	Key        core.ProgramKey `arg:"" help:"Key of the program."`
	LandingURL *string         `help:"Page that share links lead to." placeholder:"URL"`
}

// Run changes a program and prints it.
func (c *programUpdateCommand) Run(e *env) error {
	engine, err := c.openTenant(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	p, err := engine.Admin.Programs.Update(e.ctx, members.OperatorOf(c.Tenant), c.Key, func(p *referral.Program) error {
		setIfGiven(&p.LandingURL, c.LandingURL)
		return c.apply(p)
	})
	if err != nil {
		return asFlag(err)
	}
	return showProgram(e.out, p)
}

type programDeleteCommand struct {
	tenantFlags
	Key core.ProgramKey `arg:"" help:"Key of the program."`
}

// Run deletes a program.
func (c *programDeleteCommand) Run(e *env) error {
	engine, err := c.openTenant(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	if err := engine.Admin.Programs.Delete(e.ctx, members.OperatorOf(c.Tenant), c.Key); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.out, "program %s of tenant %s is deleted\n", c.Key, c.Tenant)
	return err
}

type programFillCommand struct {
	tenantFlags
	Key  core.ProgramKey `arg:"" help:"Key of the program."`
	Side string          `arg:"" enum:"referrer,referred" help:"Side that is rewarded with the codes: ${enum}."`
	File *os.File        `required:"" help:"File with one code per line; - is the standard input." placeholder:"FILE"`
}

// Run loads codes and prints the level of the tank.
func (c *programFillCommand) Run(e *env) error {
	defer c.File.Close()
	engine, err := c.openTenant(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	side, lines := referral.SideKey(c.Side), bufio.NewScanner(c.File)
	var codes []string
	fill := func() error {
		_, err := engine.Admin.Programs.Fill(e.ctx, members.OperatorOf(c.Tenant), c.Key, side, codes)
		codes = codes[:0]
		return err
	}
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		code, err := reward.ParseTankCode("line "+strconv.Itoa(n), line)
		if err != nil {
			return err
		}
		if codes = append(codes, code); len(codes) == reward.MaxTankCodes {
			if err := fill(); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if len(codes) > 0 {
		if err := fill(); err != nil {
			return err
		}
	}
	tank, err := engine.FuelTanks.Level(e.ctx, c.Tenant, c.Key, side)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(e.out, tankText(tank))
	return err
}

func tankText(t reward.Tank) string {
	return fmt.Sprintf("%d codes available, %d given, %d rewards due", t.Available, t.Given, t.Due)
}

// apply sets the given settings of a program.
func (f *programFlags) apply(p *referral.Program) error {
	before := *p
	setIfGiven(&p.Name, f.Name)
	if len(f.AllowHost) > 0 {
		p.AllowedHosts = f.AllowHost
		if len(f.AllowHost) == 1 && f.AllowHost[0] == "none" {
			p.AllowedHosts = nil
		}
	}
	setDuration(&p.CookieLife, f.CookieLife)
	setIfGiven(&p.UTMSource, f.UTMSource)
	setIfGiven(&p.UTMCampaign, f.UTMCampaign)
	if f.MoneyBack != nil && *f.MoneyBack < 0 {
		return core.Invalid("money-back", "must not be negative; 0s is never")
	}
	setDuration(&p.MoneyBack, f.MoneyBack)
	setIfGiven(&p.Limits.Total, f.MaxRewards)
	setIfGiven(&p.Limits.InPeriod, f.MaxRewardsInPeriod)
	setDuration(&p.Limits.Period, f.Period)
	if f.MaxRewardsInPeriod != nil && *f.MaxRewardsInPeriod == 0 {
		p.Limits.Period = 0
	}
	setIfGiven(&p.Fraud.DailyRewards, f.DailyRewards)
	err := errors.Join(
		setOffer(&p.Referrer, "referrer-reward", f.ReferrerReward),
		setOffer(&p.Referred, "referred-reward", f.ReferredReward),
		parse(&p.Limits.Discount, "max-discount", f.MaxDiscount, parsePercent),
		parse(&p.Fraud.Handling, "fraud", f.Fraud, parseHandling),
		f.signals(&p.Fraud),
		f.conversionFlags.apply(&p.Conversion),
	)
	if err == nil {
		err = f.invitations(p)
	}
	if err != nil {
		return err
	}
	setDays(&p.Referrer.ValidFor, f.ReferrerExpiryDays)
	setDays(&p.Referred.ValidFor, f.ReferredExpiryDays)
	referrer, referred := f.terms()
	err = errors.Join(referrer.apply(&p.Referrer, &p.ReferrerTerms), referred.apply(&p.Referred, &p.ReferredTerms))
	setOrders(p, before, referrer, referred)
	p.SetDefaults()
	return err
}

// terms returns the flags of the terms of both rewards.
func (f *programFlags) terms() (referrer, referred termFlags) {
	return termFlags{
			side: "referrer", min: f.ReferrerMin, max: f.ReferrerMax, tiers: f.ReferrerTier, orders: f.ReferrerOrders, months: f.ReferrerMonths, delay: f.ReferrerDelayDays,
		}, termFlags{
			side: "referred", min: f.ReferredMin, max: f.ReferredMax, tiers: f.ReferredTier, orders: f.ReferredOrders, months: f.ReferredMonths, delay: f.ReferredDelayDays,
		}
}

func (f *programFlags) signals(p *referral.FraudPolicy) error {
	known := map[string]bool{}
	bySignal := map[referral.Signal]referral.Handling{}
	for _, s := range referral.Signals() {
		known[string(s)] = true
		if h, ok := p.BySignal[s]; ok {
			bySignal[s] = h
		}
		switch text, given := f.FraudSignal[string(s)]; {
		case !given:
		case text == "default":
			delete(bySignal, s)
		default:
			h, err := parseHandling("fraud-signal", text)
			if err != nil {
				return err
			}
			bySignal[s] = h
		}
	}
	for name := range f.FraudSignal {
		if !known[name] {
			return core.Invalid("fraud-signal", name+" is not one of name, email, tempEmail, ip, rate, dailyReferralRewardLimit, mutualReferral")
		}
	}
	p.BySignal = bySignal
	return nil
}

// invitations changes the given parts of the program's invitations.
func (f *programFlags) invitations(p *referral.Program) error {
	all := maps.Clone(p.Invitations)
	if all == nil {
		all = map[text.Tag]text.Invitation{}
	}
	for _, locale := range f.DefaultInvitation {
		tag, err := text.ParseTag("default-invitation", locale)
		if err != nil {
			return err
		}
		delete(all, tag)
	}
	for _, part := range []struct {
		flag  string
		texts map[string]string
		set   func(*text.Invitation, string)
	}{
		{"invitation-subject", f.InvitationSubject, func(i *text.Invitation, s string) { i.Subject = s }},
		{"invitation-message", f.InvitationMessage, func(i *text.Invitation, s string) { i.Message = s }},
	} {
		for locale, words := range part.texts {
			tag, err := text.ParseTag(part.flag, locale)
			if err != nil {
				return err
			}
			i := all[tag]
			part.set(&i, words)
			all[tag] = i
		}
	}
	if p.Invitations = all; len(all) == 0 {
		p.Invitations = nil
	}
	return nil
}

func setIfGiven[T any](into *T, given *T) {
	if given != nil {
		*into = *given
	}
}

func setDuration(into *core.Time, given *time.Duration) {
	if given != nil {
		*into = core.Time(given.Milliseconds())
	}
}

func setDays(into *core.Time, given *int64) {
	if given != nil {
		// Clamp the days, so that the product does not overflow.
		*into = core.Time(min(max(*given, -1), 1<<20)) * core.Day
	}
}

// setOffer replaces an offer, but keeps its delay and its validity, and the currency of
// the minimum and maximum of a percentage of the revenue.
func setOffer(into *reward.Offer, flag string, given *string) error {
	before := *into
	err := parse(into, flag, given, parseOffer)
	if given != nil && !into.None() {
		into.ValidFor, into.GivenAfter = before.ValidFor, before.GivenAfter
		if into.OfRevenue != 0 && before.OfRevenue != 0 {
			into.Currency = before.Currency
		}
	}
	return err
}

// parse parses the value of a flag and stores it, if the flag is given.
func parse[T any](into *T, flag string, given *string, read func(flag, text string) (T, error)) error {
	if given == nil {
		return nil
	}
	value, err := read(flag, *given)
	if err == nil {
		*into = value
	}
	return err
}

// asFlag replaces the field of an error by the flag that sets it.
func asFlag(err error) error {
	var known *core.Error
	if !errors.As(err, &known) {
		return err
	}
	longest := ""
	flagged := *known
	if part, ok := strings.CutPrefix(known.Field, "invitations."); ok {
		tag, part, _ := strings.Cut(part, ".")
		flagged.Field, flagged.Message = "invitation-"+part, tag+" "+known.Message
		return &flagged
	}
	for field, flag := range map[string]string{
		"id": "key", "name": "name", "sharing.url": "landing-url", "sharing.allowedHosts": "allow-host", "sharing.cookieExpiryDuration": "cookie-life", "sharing.utmSource": "utm-source", "sharing.utmCampaign": "utm-campaign",
		"rewards.moneyBackDuration": "money-back", "rewards.referrer": "referrer-reward", "rewards.referred": "referred-reward", "limits.rewards": "max-rewards",
		"limits.rewardsInPeriod": "max-rewards-in-period", "limits.period": "period", "limits.discountPercent": "max-discount",
		"invitations": "invitation-message", "fraud.handling": "fraud", "fraud.signals": "fraud-signal", "fraud.dailyRewardLimit": "daily-rewards",
		"conversion.event": "convert-event", "conversion.reversalEvent": "reversal-event", "conversion.conditions": "condition",
		"conversion.withinDuration": "within", "conversion.beforeDuration": "order-before", "conversion.firstEvent": "first-event",
		"rewards.referrer.minimum": "referrer-min", "rewards.referrer.maximum": "referrer-max", "rewards.referrer.tiers": "referrer-tier",
		"rewards.referrer.orders": "referrer-orders", "rewards.referrer.months": "referrer-months", "rewards.referrer.scheduleDuration": "referrer-delay-days",
		"rewards.referred.minimum": "referred-min", "rewards.referred.maximum": "referred-max", "rewards.referred.tiers": "referred-tier",
		"rewards.referred.orders": "referred-orders", "rewards.referred.months": "referred-months", "rewards.referred.scheduleDuration": "referred-delay-days",
	} {
		rest, ok := strings.CutPrefix(known.Field, field)
		if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') && len(field) > len(longest) {
			longest, flagged.Field = field, flag
		}
	}
	return &flagged
}
