package link

import "strings"

// botMarks are lower-case pieces of the User-Agent of programs that open links
// by themselves: chat and mail previews, search engines, uptime monitors. The
// general marks come first since they catch most. Libraries and command-line
// clients are not among them: a person or a test sits behind those.
var botMarks = [...]string{
	"bot", "crawl", "spider", "preview", "externalhit", "facebookcatalog", "whatsapp/",
	"slack-imgproxy", "vkshare", "embedly", "iframely", "outbrain", "pinterest/0", "flipboard",
	"tumblr/", "mastodon/", "pleroma", "misskey", "akkoma", "bluesky", "google-read-aloud",
	"mediapartners-google", "google-safety", "google favicon", "googleimageproxy", "slurp",
	"ia_archiver", "pingdom", "uptime", "statuscake", "site24x7", "barracuda", "proofpoint",
	"mimecast", "safelinks", "microsoft office", "ms-office",
}

// maxAgent bounds how much of a User-Agent is looked at; real ones are shorter.
const maxAgent = 512

// bot reports whether a User-Agent is that of a known program.
func bot(agent string) bool {
	if len(agent) > maxAgent {
		agent = agent[:maxAgent]
	}
	agent = strings.ToLower(agent)
	// A brand of phones, whose name is not what it says.
	agent = strings.ReplaceAll(agent, "cubot", "")
	for _, mark := range botMarks {
		if strings.Contains(agent, mark) {
			return true
		}
	}
	return false
}
