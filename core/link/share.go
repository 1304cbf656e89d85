package link

import (
	"net/url"
	"strings"

	"kith/core"
)

// Engagement is the engagement medium: where a user got a share link
// (clients 1.7.2).
type Engagement string

// ShareMedium is how a link is shared (clients 1.7.2).
type ShareMedium string

// Unknown is the engagement and share medium of a link that has none.
const Unknown = "UNKNOWN"

// Engagements and ShareMediums list all mediums of share links, in the order of
// responses.
var (
	Engagements  = []Engagement{"EMAIL", "MOBILE", "EMBED", "POPUP", "HOSTED", Unknown}
	ShareMediums = []ShareMedium{
		"FACEBOOK", "TWITTER", "EMAIL", "DIRECT", "LINKEDIN", "SMS", "FBMESSENGER", "WHATSAPP", "LINEMESSENGER",
		"PINTEREST", Unknown,
	}
)

// Share builds the share links of a tenant.
type Share struct {
	// Origin is the scheme and host of the links, such as https://go.shop.example.
	Origin string
	Tenant core.TenantAlias
}

// URL returns the link of a code, without mediums.
func (s Share) URL(code core.ReferralCode) string {
	return s.Origin + "/s/" + string(s.Tenant) + "/" + string(code)
}

// ParseShareLink parses a share link of a tenant and returns its host, in lower case,
// and its code. It ignores the query, such as mediums.
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

// Mediums returns the query of a share link with these mediums, with "?" in front.
// Mediums that are empty or Unknown are left out.
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
