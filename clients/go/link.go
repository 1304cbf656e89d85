package kith

import "strings"

// CleanShareLink returns the share link without any medium, as GetShareURLs answers it. It
// returns an empty string if there are no links: a user who has codes in several programs,
// but none in classic, has links in ProgramShareLinks only.
func (l *FlatShareLinks) CleanShareLink() string {
	if l == nil || l.ShareLink == nil {
		return ""
	}
	link, _, _ := strings.Cut(*l.ShareLink, "?")
	return link
}
