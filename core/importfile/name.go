package importfile

import (
	"strings"

	"kith/core"
	"kith/core/job"
)

// Prefix is what the names of files for one type of job begin with, where the
// name alone says what a file is for.
type Prefix struct {
	Text string
	Type job.Type
}

// Prefixes lists all, one for each type of import (reference, 3.5, which has
// them in a picture; one of them stands in its example of a fileRef).
func Prefixes() []Prefix {
	return []Prefix{
		{"users_", job.ImportUser}, {"userEvents_", job.ImportUserEvent},
		{"deleteUsers_", job.ImportDelete}, {"redeemRewards_", job.ImportRedeem},
	}
}

// TypeOf returns what a file is for by its name, which begins with one of
// Prefixes and ends in .csv, .jsonl or .ndjson, or in one of these and .gz; or
// an error that says so.
//
// Spec silent: case does not count, "-" is as good as "_", also between the
// words ("user-events-may.csv"), and nothing need follow ("users.csv").
func TypeOf(name string) (job.Type, error) {
	lower := strings.ReplaceAll(strings.ToLower(name), "-", "_")
	rest, ending := cutEnding(lower)
	if !ending {
		return "", core.Invalid("name", "must end in .csv, .jsonl or .ndjson, packed also in .gz: send the file under its own name, not under one for the time being")
	}
	for _, p := range Prefixes() {
		if begins(rest+"_", p.Text) {
			return p.Type, nil
		}
	}
	return "", core.Invalid("name", "must begin with "+allPrefixes()+", which says what the file is for")
}

// cutEnding takes off what tells the form of a file.
func cutEnding(lower string) (rest string, ok bool) {
	lower = strings.TrimSuffix(lower, GzipEnding)
	for _, ending := range []string{".csv", ".jsonl", ".ndjson"} {
		if rest, ok = strings.CutSuffix(lower, ending); ok {
			return rest, true
		}
	}
	return "", false
}

// begins reports whether a name begins with a prefix, whose words may be apart.
func begins(lower, prefix string) bool {
	apart := ""
	for _, c := range prefix {
		if 'A' <= c && c <= 'Z' {
			apart += "_"
		}
		apart += string(c)
	}
	return strings.HasPrefix(lower, strings.ToLower(prefix)) || strings.HasPrefix(lower, strings.ToLower(apart))
}

func allPrefixes() string {
	var texts []string
	for _, p := range Prefixes() {
		texts = append(texts, p.Text)
	}
	last := len(texts) - 1
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}
