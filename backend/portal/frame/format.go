package frame

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"kith/core"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/reward"
)

// timeElement returns a time as an element. A script writes it in the visitor's zone and
// language; without scripts it is shown in UTC. style is "date", "minute" or "second";
// "ago", which adds how long ago it is; or "day", which is a day of UTC.
func timeElement(at core.Time, style string) template.HTML {
	if at == 0 {
		return "–"
	}
	t := time.UnixMilli(int64(at)).UTC()
	layout := map[string]string{"date": "2 Jan 2006", "day": "2 Jan 2006", "second": "2 Jan 2006, 15:04:05 UTC"}[style]
	if layout == "" {
		layout = "2 Jan 2006, 15:04 UTC"
	}
	return template.HTML(`<time datetime="` + t.Format("2006-01-02T15:04:05.000Z") + `" data-time="` + template.HTMLEscapeString(style) + `">` + t.Format(layout) + `</time>`) // #nosec G203 -- formatted times, and an escaped name
}

// breakable returns a mail address, or another text, that a browser may break before an @.
func breakable(s string) template.HTML {
	s = template.HTMLEscapeString(s)
	return template.HTML(strings.ReplaceAll(s, "@", "<wbr>@")) // #nosec G203 -- escaped
}

// fold returns the class of a code or a name. A long one breaks anywhere; a short one stays
// whole in a wide window.
func fold(text any) string {
	if utf8.RuneCountInString(fmt.Sprint(text)) > 16 {
		return "break"
	}
	return "break short"
}

// Number returns a number as an element. A script writes it as the visitor's language does;
// without scripts it is shown as in English.
func Number(n int64) template.HTML {
	return data(strconv.FormatInt(n, 10), "", reward.Pretty(n, "", "", reward.NumberFormatted))
}

// Tenths returns a number that is given in tenths as an element, such as 4.1, without a
// decimal that is 0; see Number.
func Tenths(n int64) template.HTML {
	text := strconv.FormatInt(n/10, 10)
	if n%10 != 0 {
		text += "." + strconv.FormatInt(n%10, 10)
	}
	return data(text, "", text)
}

// Amount returns the value of a reward with its unit or currency as an element, in the form
// that widgets show; see Number.
func Amount(value int64, unit, currency string) template.HTML {
	text := reward.Pretty(value, unit, currency, reward.UnitFormatted)
	number := reward.Pretty(value, unit, currency, reward.NumberUnformatted)
	if _, named, found := strings.Cut(unit, "/"); found {
		unit, currency = reward.UnitCents, named
	}
	if unit == reward.UnitCents && currency != "" {
		return data(number, currency, text)
	}
	// What follows the number is the unit.
	shown := reward.Pretty(value, unit, currency, reward.NumberFormatted)
	rest, ok := strings.CutPrefix(text, shown)
	if !ok {
		return template.HTML(template.HTMLEscapeString(text)) // #nosec G203 -- escaped
	}
	// A cell of a table that is shown as a card places each of its elements by itself.
	return "<span>" + data(number, "", shown) + template.HTML(template.HTMLEscapeString(rest)) + "</span>" // #nosec G203 -- escaped
}

// data returns a number that the script of the page may write in another form.
func data(value, currency, shown string) template.HTML {
	if currency != "" {
		currency = ` data-currency="` + template.HTMLEscapeString(currency) + `"`
	}
	return template.HTML(`<data value="` + value + `"` + currency + `>` + template.HTMLEscapeString(shown) + `</data>`) // #nosec G203 -- a number, and escaped texts
}

// Day returns a day of UTC as an element that a script writes in the visitor's language.
// Figures are counted by these days, so they are not of the visitor's zone.
func Day(at core.Time) template.HTML { return timeElement(at, "day") }

// PersonName returns what to call a user of a shop; see referral.Identity.Name.
func PersonName(first, last, email string, id core.UserID) string {
	return referral.Identity{User: id, Email: email}.Name(referral.Profile{FirstName: first, LastName: last})
}

// RewardStatus returns the status of a reward as people read it.
func RewardStatus(w reward.Reward, now core.Time) string {
	return StatusWord(w.Status(now), w.OnHold(), w.Cancelled != 0)
}

// StatusWord is RewardStatus for a status of rewards that may be on hold, and of which those
// that are cancelled were cancelled by hand or taken back.
func StatusWord(s reward.Status, onHold, byHand bool) string {
	switch s {
	case reward.StatusPending:
		if onHold {
			return "Held"
		}
		return "Pending"
	case reward.StatusRedeemed:
		return "Used"
	case reward.StatusExpired:
		return "Expired"
	case reward.StatusCancelled:
		if !byHand {
			return "Taken back"
		}
		return "Cancelled"
	}
	return "Available"
}

// given returns when a reward was given, or when it will be.
func given(w reward.Reward, now core.Time) template.HTML {
	switch at := timeElement(w.Given, "date"); {
	case w.OnHold(), w.Given > now && w.Status(now) != reward.StatusPending:
		return "–"
	case w.Given > now:
		return "<span>on " + at + "</span>"
	default:
		return at
	}
}

// RoleName returns a role as people read it.
func RoleName(role people.Role) string { return word(role) }

// word returns a constant, such as PAID or owner, as people read it: Paid, Owner.
func word[S ~string](constant S) string {
	if constant == "" {
		return ""
	}
	return strings.ToUpper(string(constant[:1])) + strings.ToLower(string(constant[1:]))
}
