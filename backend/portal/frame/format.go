package frame

import (
	"html/template"
	"strings"
	"time"

	"kith/core"
	"kith/core/people"
	"kith/core/reward"
)

// timeElement returns a time as an element. A script writes it in the visitor's zone and
// language; without scripts it is shown in UTC. style is "date", "minute" or "second", or
// "ago", which adds how long ago it is.
func timeElement(at core.Time, style string) template.HTML {
	if at == 0 {
		return "–"
	}
	t := time.UnixMilli(int64(at)).UTC()
	layout := map[string]string{"date": "2 Jan 2006", "second": "2 Jan 2006, 15:04:05 UTC"}[style]
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

// amount returns an amount in minor units with its currency, as widgets show it.
func amount(value int64, unit, currency string) string {
	return reward.Pretty(value, unit, currency, reward.UnitFormatted)
}

// RoleName returns a role as people read it.
func RoleName(role people.Role) string {
	if role == "" {
		return ""
	}
	return strings.ToUpper(string(role[:1])) + string(role[1:])
}
