package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
)

// showProgram prints the settings of a program, one per line.
func showProgram(out io.Writer, p referral.Program) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, value string) { fmt.Fprintf(w, "%s\t%s\n", name, value) }
	line("key", string(p.Key))
	line("name", p.Name)
	line("landing page", p.LandingURL)
	line("further hosts", cmp.Or(strings.Join(p.AllowedHosts, ", "), "none"))
	line("cookie life", durationText(p.CookieLife))
	line("utm source", cmp.Or(p.UTMSource, "the medium of the link"))
	line("utm campaign", cmp.Or(p.UTMCampaign, p.Name))
	if p.Conversion.ByEvent() {
		line("converted by", conversionText(p.Conversion))
		line("taken back by", "the event "+p.Conversion.Reversal)
	}
	line("referrer earns", earningText(p.Earning(referral.ReferrerSide), p.Conversion.ByEvent()))
	line("referred earns", earningText(p.Earning(referral.ReferredSide), p.Conversion.ByEvent()))
	if !p.Conversion.ByEvent() {
		line("money-back window", cmp.Or(map[bool]string{true: "none"}[p.MoneyBack == 0], durationText(p.MoneyBack)))
	}
	line("most rewards", limitText(p.Limits.Total, ""))
	line("most rewards in a period", limitText(p.Limits.InPeriod, " in "+durationText(p.Limits.Period)))
	line("most discount", percentLimit(p.Limits.Discount))
	line("fraud", handlingText(p.Fraud))
	line("daily rewards", limitText(p.Fraud.DailyRewards, ""))
	for _, tag := range referral.InvitationTags(p.Invitations) {
		line("invitation in "+string(tag), p.Invitations[tag].Subject+" | "+strings.ReplaceAll(p.Invitations[tag].Message, "\n", " "))
	}
	line("made", dateText(p.Created))
	line("changed", dateText(p.Modified))
	return w.Flush()
}

func offerText(o reward.Offer) string {
	text := ""
	switch {
	case o.None():
		return "none"
	case o.OfRevenue != 0:
		text = o.OfRevenue.String() + "%" + ofRevenue
	case o.Kind == reward.PercentDiscount:
		text = o.Percent.String() + "%"
	case o.InUnit() == reward.UnitPercent:
		text = reward.BasisPoints(o.Amount).String() + "%"
	case o.InUnit() == reward.UnitCents:
		text = reward.Pretty(o.Amount, reward.UnitCents, o.Currency, reward.NumberUnformatted) + " " + o.Currency
	default:
		text = fmt.Sprintf("%d %s", o.Amount, o.Unit)
	}
	if o.Kind == reward.FuelTank || o.Kind == reward.Integration {
		text = string(o.Kind) + " " + text
	}
	if o.ValidFor > 0 {
		text += " for " + durationText(o.ValidFor)
	}
	return text
}

func limitText(n int64, of string) string {
	if n == 0 {
		return "no limit"
	}
	return strconv.FormatInt(n, 10) + of
}

func percentLimit(b reward.BasisPoints) string {
	if b == 0 {
		return "no limit"
	}
	return b.String() + "%"
}

func handlingText(p referral.FraudPolicy) string {
	text := strings.ToLower(string(p.Handling))
	for _, s := range referral.Signals() {
		if h, ok := p.BySignal[s]; ok {
			text += ", " + string(s) + " " + strings.ToLower(string(h))
		}
	}
	return text
}

// durationText returns a duration as text: in days if it is a whole number of days.
func durationText(d core.Time) string {
	switch {
	case d == core.Day:
		return "1 day"
	case d > core.Day && d%core.Day == 0:
		return strconv.FormatInt(int64(d/core.Day), 10) + " days"
	}
	text := (time.Duration(d) * time.Millisecond).String()
	if minutes, ok := strings.CutSuffix(text, "m0s"); ok {
		text = minutes + "m"
	}
	if hours, ok := strings.CutSuffix(text, "h0m"); ok {
		text = hours + "h"
	}
	return text
}

func dateText(t core.Time) string { return time.UnixMilli(int64(t)).UTC().Format(time.RFC3339) }

// ofRevenue ends a reward that is a percentage of an order.
const ofRevenue = " of revenue"

// parseOffer parses a reward: "none", "10%", "10.00 USD" or "2 months", the last three
// optionally after FUELTANK or INTEGRATION; or "10% of revenue", optionally after
// INTEGRATION.
func parseOffer(flag, text string) (reward.Offer, error) {
	text = strings.TrimSpace(text)
	if text == "none" {
		return reward.Offer{}, nil
	}
	offer := reward.Offer{Kind: reward.Credit}
	if kind, value, ok := strings.Cut(text, " "); ok && (kind == string(reward.FuelTank) || kind == string(reward.Integration)) {
		offer.Kind, text = reward.Kind(kind), strings.TrimSpace(value)
	}
	amount, unit, _ := strings.Cut(text, " ")
	money := len(unit) == 3 && unit == strings.ToUpper(unit)
	switch {
	case strings.HasSuffix(text, "%"):
		return percentOffer(offer, flag, text)
	case strings.HasSuffix(text, "%"+ofRevenue):
		percent, err := parsePercent(flag, strings.TrimSuffix(text, ofRevenue))
		offer.OfRevenue = percent
		return offer, err
	case money && parseMinorUnits(&offer.Amount, amount, unit):
		offer.Currency = unit
		return offer, nil
	case !money && unit != "" && unit == strings.TrimSpace(unit) && parseWhole(&offer.Amount, amount):
		offer.Unit = unit
		return offer, nil
	}
	return reward.Offer{}, core.Invalid(flag, "must be 'none', a percentage such as '10%', an amount such as '10.00 USD' or '2 months', or '10% of revenue'")
}

func percentOffer(offer reward.Offer, flag, text string) (reward.Offer, error) {
	percent, err := parsePercent(flag, text)
	if offer.Kind == reward.Credit {
		return reward.Offer{Kind: reward.PercentDiscount, Percent: percent}, err
	}
	offer.Unit, offer.Amount = reward.UnitPercent, int64(percent)
	return offer, err
}

func parsePercent(flag, text string) (reward.BasisPoints, error) {
	return reward.ParsePercent(flag, strings.TrimSuffix(strings.TrimSpace(text), "%"))
}

func parseHandling(flag, text string) (referral.Handling, error) {
	return referral.ParseHandling(flag, strings.ToUpper(text))
}

// parseMinorUnits parses an amount with no decimals, or all of its currency.
func parseMinorUnits(into *int64, s, currency string) bool {
	digits := reward.MinorDigits(currency)
	whole, cents, pointed := strings.Cut(s, ".")
	if !pointed {
		cents = strings.Repeat("0", digits)
	}
	return whole != "" && len(cents) == digits && (!pointed || digits > 0) && parseWhole(into, whole+cents)
}

func parseWhole(into *int64, s string) bool {
	n, err := strconv.ParseUint(s, 10, 53)
	*into = int64(n)
	return err == nil
}
