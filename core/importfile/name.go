package importfile

import (
	"strings"

	"kith/core"
	"kith/core/job"
)

// Prefix is the prefix of file names for one type of job, used where only the name
// gives the type, as over SFTP.
type Prefix struct {
	Text string
	Type job.Type
}

// Prefixes lists all prefixes, one for each type of import (clients 3.5.2, which
// shows them in an image; its example of a fileRef has one of them).
func Prefixes() []Prefix {
	return []Prefix{
		{"users_", job.ImportUser}, {"userEvents_", job.ImportUserEvent},
		{"deleteUsers_", job.ImportDelete}, {"redeemRewards_", job.ImportRedeem},
	}
}

// TypeOf returns the type of job for a file name, which must begin with one of
// Prefixes and end in .xlsx, .csv, .tsv, .txt, .jsonl or .ndjson, or in one of these and
// .gz. Otherwise the error says which part is wrong.
//
// Spec silent: case is ignored, "-" is the same as "_" and may also separate the
// words ("user-events-may.csv"), and the prefix may be the whole name ("users.csv").
func TypeOf(name string) (job.Type, error) {
	lower := strings.ReplaceAll(strings.ToLower(name), "-", "_")
	rest, ending := cutEnding(lower)
	if !ending {
		return "", core.Invalid("name", "must end in .xlsx, .csv, .tsv, .txt, .jsonl or .ndjson, optionally with .gz; upload the file under its final name, not a temporary one")
	}
	for _, p := range Prefixes() {
		if begins(rest+"_", p.Text) {
			return p.Type, nil
		}
	}
	return "", core.Invalid("name", "must begin with "+allPrefixes()+", which selects the type of the import")
}

// cutEnding removes the ending that gives the format.
func cutEnding(lower string) (rest string, ok bool) {
	lower = strings.TrimSuffix(lower, GzipEnding)
	for _, ending := range []string{".xlsx", ".csv", ".tsv", ".txt", ".jsonl", ".ndjson"} {
		if rest, ok = strings.CutSuffix(lower, ending); ok {
			return rest, true
		}
	}
	return "", false
}

// begins reports whether a name begins with a prefix, with or without "_" between the
// prefix's words.
func begins(lower, prefix string) bool {
	separated := ""
	for _, c := range prefix {
		if 'A' <= c && c <= 'Z' {
			separated += "_"
		}
		separated += string(c)
	}
	return strings.HasPrefix(lower, strings.ToLower(prefix)) || strings.HasPrefix(lower, strings.ToLower(separated))
}

func allPrefixes() string {
	var texts []string
	for _, p := range Prefixes() {
		texts = append(texts, p.Text)
	}
	last := len(texts) - 1
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}
