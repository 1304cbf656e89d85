package referral

// Setting is a value of a program that people set. The API and the form of the portal read and
// write each setting by the type of its value. The name, rewards and invitations are no
// settings of this kind.
type Setting struct {
	// Path is its name: its place in the JSON of a program, such as limits.rewards.
	Path  string
	Unset Unset
	// At returns the pointer to the value in a program.
	At func(*Program) any
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

// Settings lists the settings in the order in which they are shown.
func Settings() []Setting {
	return []Setting{
		{"sharing.url", AsItIs, func(p *Program) any { return &p.LandingURL }},
		{"sharing.allowedHosts", AsItIs, func(p *Program) any { return &p.AllowedHosts }},
		{"sharing.cookieExpiryDuration", AsItIs, func(p *Program) any { return &p.CookieLife }},
		{"sharing.utmSource", LeftOut, func(p *Program) any { return &p.UTMSource }},
		{"sharing.utmCampaign", LeftOut, func(p *Program) any { return &p.UTMCampaign }},
		{"conversion.event", AsItIs, func(p *Program) any { return &p.Conversion.Event }},
		{"conversion.reversalEvent", AsNull, func(p *Program) any { return &p.Conversion.Reversal }},
		{"conversion.conditions", AsItIs, func(p *Program) any { return &p.Conversion.Conditions }},
		{"conversion.withinDuration", AsNull, func(p *Program) any { return &p.Conversion.Within }},
		{"conversion.beforeDuration", AsItIs, func(p *Program) any { return &p.Conversion.Before }},
		{"conversion.firstEvent", AsItIs, func(p *Program) any { return &p.Conversion.FirstEvent }},
		{"limits.rewards", AsNull, func(p *Program) any { return &p.Limits.Total }},
		{"limits.rewardsInPeriod", AsNull, func(p *Program) any { return &p.Limits.InPeriod }},
		{"limits.period", AsNull, func(p *Program) any { return &p.Limits.Period }},
		{"limits.discountPercent", AsNull, func(p *Program) any { return &p.Limits.Discount }},
		{"fraud.handling", AsItIs, func(p *Program) any { return &p.Fraud.Handling }},
		{"fraud.signals", AsItIs, func(p *Program) any { return &p.Fraud.BySignal }},
		{"fraud.dailyRewardLimit", AsNull, func(p *Program) any { return &p.Fraud.DailyRewards }},
	}
}
