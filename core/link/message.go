package link

import (
	"net/url"
	"strings"
)

// Message returns the URL to which a browser is redirected to share a link through a
// medium, with the subject and the text of an invitation (clients 1.6.7); ok is false
// for an unknown medium. Only e-mails have a subject, and pins on Pinterest have it as
// their description.
func Message(m ShareMedium, subject, words, shared string) (location string, ok bool) {
	to, both := url.QueryEscape(shared), url.QueryEscape(words+" "+shared)
	switch m {
	case "EMAIL":
		return "mailto:?subject=" + percent(subject) + "&body=" + percent(words+"\r\n\r\n"+shared), true
	case "SMS":
		return "sms:?&body=" + percent(words+" "+shared), true
	case "FACEBOOK":
		return "https://www.facebook.com/sharer/sharer.php?u=" + to, true
	case "FBMESSENGER":
		return "fb-messenger://share?link=" + to, true
	case "TWITTER":
		return "https://twitter.com/intent/tweet?text=" + url.QueryEscape(words) + "&url=" + to, true
	case "LINKEDIN":
		return "https://www.linkedin.com/sharing/share-offsite/?url=" + to, true
	case "WHATSAPP":
		return "https://api.whatsapp.com/send?text=" + both, true
	case "LINEMESSENGER":
		return "https://line.me/R/msg/text/?" + both, true
	case "PINTEREST":
		return "https://www.pinterest.com/pin/create/button/?url=" + to + "&description=" + url.QueryEscape(subject), true
	case "DIRECT", Unknown:
		return shared, true
	}
	return "", false
}

// percent escapes a text for programs that do not decode "+" as a blank.
func percent(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// ParseShareMedium parses a medium; ok is false if it is unknown or empty.
func ParseShareMedium(s string) (m ShareMedium, ok bool) {
	for _, m := range ShareMediums {
		if string(m) == s {
			return m, true
		}
	}
	return "", false
}

// ParseEngagement parses an engagement medium; ok is false if it is unknown or empty.
func ParseEngagement(s string) (e Engagement, ok bool) {
	for _, e := range Engagements {
		if string(e) == s {
			return e, true
		}
	}
	return "", false
}
