package wire

import (
	"net/url"
	"slices"
	"strings"

	"kith/core"
)

// listParameters may be given several times: each adds to a list.
var listParameters = []string{"fields", "extraFields"}

// CheckQuery refuses the query of a call, as it was sent, that can be read in two
// ways: a parameter that is given twice, as bodies may give no key twice, a
// semicolon, which some readers take for "&", and what is not percent-encoded
// rightly.
func CheckQuery(query string) error {
	var seen []string
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		if strings.Contains(pair, ";") {
			return core.Invalid("", "the query has a semicolon; separate parameters by an ampersand, and write %3B for one in a value")
		}
		name, value, _ := strings.Cut(pair, "=")
		name, nameErr := url.QueryUnescape(name)
		_, valueErr := url.QueryUnescape(value)
		if nameErr != nil || valueErr != nil {
			return core.Invalid("", "the query is not percent-encoded; write %25 for a percent sign")
		}
		if slices.Contains(seen, name) && !slices.Contains(listParameters, name) {
			return core.Invalid(name, "is given twice in the query; give it once")
		}
		seen = append(seen, name)
	}
	return nil
}
