package link

import (
	"net/url"
	"strings"

	"kith/core"
)

// Engagement is where a user got a link to share from (reference, 1.7).
type Engagement string

// ShareMedium is how a link is shared (reference, 1.7).
type ShareMedium string

// Unknown is the engagement and the medium of a link that tells none.
const Unknown = "UNKNOWN"

// Engagements and ShareMediums are all that share links are made for, in the
// order in which they are listed.
var (
	Engagements  = []Engagement{"EMAIL", "MOBILE", "EMBED", "POPUP", "HOSTED", Unknown}
	ShareMediums = []ShareMedium{
		"FACEBOOK", "TWITTER", "EMAIL", "DIRECT", "LINKEDIN", "SMS", "FBMESSENGER", "WHATSAPP", "LINEMESSENGER",
		"PINTEREST", Unknown,
	}
)

// Share makes the share links of a tenant.
type Share struct {
	// Origin is where they begin: scheme and host, such as
	// https://go.shop.example.
	Origin string
	Tenant core.TenantAlias
}

// URL returns the link of a code, without mediums.
func (s Share) URL(code core.ReferralCode) string {
	return s.Origin + "/s/" + string(s.Tenant) + "/" + string(code)
}

// ParseShareLink reads a share link of a tenant: its host, in lower case, and the
// code that is its name. What follows the name, such as mediums, has no meaning.
func ParseShareLink(tenant core.TenantAlias, s string) (host string, name core.ReferralCode, ok bool) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return "", "", false
	}
	text, ok := strings.CutPrefix(u.EscapedPath(), "/s/"+string(tenant)+"/")
	if !ok {
		return "", "", false
	}
	name, err = core.ParseReferralCode("", text)
	return strings.ToLower(u.Host), name, err == nil
}

// Mediums returns what follows URL in a link that tells where it was shared
// from, and how; what is empty or Unknown is not told.
func Mediums(e Engagement, m ShareMedium) string {
	query := ""
	if m != "" && m != Unknown {
		query = "?" + ShareMediumParameter + "=" + string(m)
	}
	if e == "" || e == Unknown {
		return query
	}
	if query == "" {
		query = "?"
	} else {
		query += "&"
	}
	return query + EngagementMediumParameter + "=" + string(e)
}
