package overview

import (
	"strconv"
	"time"

	"kith/core"
	"kith/core/analytics"
	"kith/core/link"
)

// date returns a day as a form has it.
func date(at core.Time) string { return time.UnixMilli(int64(at)).UTC().Format(time.DateOnly) }

// spanBefore names a period by its length: "the 30 days before".
func spanBefore(days int) string {
	if days == 1 {
		return "the day before"
	}
	return "the " + strconv.Itoa(days) + " days before"
}

// mediumNames are the media of share links as people read them.
var mediumNames = map[link.ShareMedium]string{
	"FACEBOOK": "Facebook", "TWITTER": "X (Twitter)", "EMAIL": "E-mail", "DIRECT": "Copied link", "LINKEDIN": "LinkedIn", "SMS": "SMS",
	"FBMESSENGER": "Messenger", "WHATSAPP": "WhatsApp", "LINEMESSENGER": "LINE", "PINTEREST": "Pinterest", link.Unknown: "Unknown", analytics.NoMedium: "No medium",
}
