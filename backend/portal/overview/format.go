package overview

import (
	"strconv"
	"strings"
	"time"

	"kith/core"
	"kith/core/link"
	"kith/core/reward"
)

// number returns a number with thousands separators, as amounts have them.
func number(n int64) string { return reward.Pretty(n, "", "", reward.NumberFormatted) }

// day returns a day of UTC as people read it. Figures are counted by these days, so it is
// not a time in the visitor's zone.
func day(at core.Time) string { return time.UnixMilli(int64(at)).UTC().Format("2 Jan 2006") }

// date returns a day as a form has it.
func date(at core.Time) string { return time.UnixMilli(int64(at)).UTC().Format(time.DateOnly) }

func lower(s string) string { return strings.ToLower(s) }

// tenthsOfPercent returns "4.1 %".
func tenthsOfPercent(tenths int64) string {
	text := strconv.FormatInt(tenths/10, 10)
	if tenths%10 != 0 {
		text += "." + strconv.FormatInt(tenths%10, 10)
	}
	return text + " %"
}

// spanBefore names a period by its length: "the 30 days before".
func spanBefore(days int) string {
	if days == 1 {
		return "the day before"
	}
	return "the " + strconv.Itoa(days) + " days before"
}

// nameOf returns a name, or a key if there is none.
func nameOf(name, key string) string {
	if name != "" {
		return name
	}
	return key
}

// mediumNames are the media of share links as people read them.
var mediumNames = map[link.ShareMedium]string{
	"FACEBOOK": "Facebook", "TWITTER": "X (Twitter)", "EMAIL": "E-mail", "DIRECT": "Copied link", "LINKEDIN": "LinkedIn", "SMS": "SMS",
	"FBMESSENGER": "Messenger", "WHATSAPP": "WhatsApp", "LINEMESSENGER": "LINE", "PINTEREST": "Pinterest", link.Unknown: "Unknown",
}
