package link

// marks are lower-case substrings of the User-Agent of a kind of program. They are indexed
// by their first letter, because every redirect checks the User-Agent: each of its letters
// is compared only with the marks that begin with it.
type marks [128][]string

// botMarks are those of programs that open links automatically: chat and mail previews,
// search engines, uptime monitors.
var botMarks = marks{
	'a': {"akkoma"},
	'b': {"bot", "bluesky", "barracuda"},
	'c': {"crawl"},
	'e': {"externalhit", "embedly"},
	'f': {"facebookcatalog", "flipboardproxy"},
	'g': {"googleother", "google-read-aloud", "google-safety", "google favicon", "googleimageproxy"},
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

// agentMarks are those of programs that follow a link at the request of a person: the
// assistants that their vendors document, and command-line clients. The clients of Go, Java
// and Android are not listed: apps follow links with them, and keep the cookie.
var agentMarks = marks{
	'a': {"aiohttp/", "axios/"},
	'c': {"chatgpt-user", "claude-user", "curl/"},
	'd': {"duckassistbot"},
	'g': {"gemini-deep-research", "google-notebooklm"},
	'h': {"httpie/"},
	'm': {"manus-user", "meta-externalfetcher", "mistralai-user"},
	'n': {"node-fetch"},
	'p': {"perplexity-user", "postmanruntime/", "python-"},
	'w': {"wget/"},
}

// maxAgent is how many bytes of a User-Agent are checked; real ones are shorter.
const maxAgent = 512

// in reports whether a User-Agent has one of the marks.
func (m *marks) in(agent string) bool {
	if len(agent) > maxAgent {
		agent = agent[:maxAgent]
	}
	for i := range len(agent) {
		letter := lower(agent[i])
		if int(letter) >= len(m) {
			continue
		}
		for _, mark := range m[letter] {
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
