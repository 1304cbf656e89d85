package link

// botMarks are lower-case substrings of the User-Agent of programs that open links
// automatically: chat and mail previews, search engines, uptime monitors. HTTP
// libraries and command-line clients are not listed, because people and tests use
// them. The marks are indexed by their first letter, because every redirect checks
// the User-Agent: each of its letters is compared only with the marks that begin with
// it.
var botMarks = [128][]string{
	'a': {"akkoma"},
	'b': {"bot", "bluesky", "barracuda"},
	'c': {"crawl"},
	'e': {"externalhit", "embedly"},
	'f': {"facebookcatalog", "flipboardproxy"},
	'g': {"google-read-aloud", "google-safety", "google favicon", "googleimageproxy"},
	'i': {"iframely", "ia_archiver"},
	'm': {"mastodon/", "misskey", "mediapartners-google", "mimecast", "microsoft office", "ms-office"},
	'o': {"outbrain"},
	'p': {"preview", "pinterest/0", "pleroma", "pingdom", "proofpoint"},
	's': {"spider", "slurp", "slack-imgproxy", "statuscake", "site24x7", "safelinks"},
	't': {"tumblr/"},
	'u': {"uptime"},
	'v': {"vkshare"},
	'w': {"whatsapp/"},
}

// maxAgent is how many bytes of a User-Agent are checked; real ones are shorter.
const maxAgent = 512

// bot reports whether a User-Agent is that of a known bot.
func bot(agent string) bool {
	if len(agent) > maxAgent {
		agent = agent[:maxAgent]
	}
	for i := range len(agent) {
		letter := lower(agent[i])
		if int(letter) >= len(botMarks) {
			continue
		}
		for _, mark := range botMarks[letter] {
			if beginsWith(agent[i:], mark) && !phone(agent[:i], mark) {
				return true
			}
		}
	}
	return false
}

// phone reports whether a "bot" is the end of "Cubot", a brand of phones.
func phone(before, mark string) bool {
	n := len(before)
	return mark == "bot" && n >= 2 && lower(before[n-2]) == 'c' && lower(before[n-1]) == 'u'
}

// beginsWith reports whether s begins with mark, ignoring the case of s.
func beginsWith(s, mark string) bool {
	if len(s) < len(mark) {
		return false
	}
	for i := range len(mark) {
		if lower(s[i]) != mark[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
