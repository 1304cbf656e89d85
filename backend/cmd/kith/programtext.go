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
	if p.Conversion.ByEvent() {
		line("converted by", conversionText(p.Conversion))
		line("taken back by", "the event "+p.Conversion.Reversal)
	}
	line("referrer earns", earningText(p.Earning(referral.ReferrerSide), p.Conversion.ByEvent()))
	line("referred earns", earningText(p.Earning(referral.ReferredSide), p.Conversion.ByEvent()))
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
	return (time.Duration(d) * time.Millisecond).String()
}

func dateText(t core.Time) string { return time.UnixMilli(int64(t)).UTC().Format(time.RFC3339) }
