package importfile

import (
	"strings"
	"testing"

	"kith/core/job"
)

func TestTypeOf(t *testing.T) {
	for name, want := range map[string]job.Type{
		"users_2026-05.csv":           job.ImportUser,
		"users_.csv":                  job.ImportUser,
		"users.csv":                   job.ImportUser,
		"users-a.b.c.jsonl":           job.ImportUser,
		"USERS_A.CSV.GZ":              job.ImportUser,
		"userEvents_1.jsonl":          job.ImportUserEvent,
		"userevents_1.ndjson.gz":      job.ImportUserEvent,
		"user_events_1.csv":           job.ImportUserEvent,
		"user-events.csv":             job.ImportUserEvent,
		"deleteUsers_x.csv":           job.ImportDelete,
		"delete_users.csv.gz":         job.ImportDelete,
		"redeemRewards_1.csv":         job.ImportRedeem,
		"redeem-rewards-2026.csv":     job.ImportRedeem,
		"users_may.xlsx":              job.ImportUser,
		"user-events.tsv":             job.ImportUserEvent,
		"users.txt.gz":                job.ImportUser,
		"users_deleteUsers_about.csv": job.ImportUser,
	} {
		if got, err := TypeOf(name); err != nil || got != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	for name, reason := range map[string]string{
		"":                         "must end in",
		".csv":                     "must begin with users_, userEvents_, deleteUsers_ or redeemRewards_",
		"users":                    "must end in",
		"users_1":                  "must end in",
		"users_1.gz":               "must end in",
		"users_1.xls":              "must end in",
		"users_1.csv.filepart":     "not a temporary one",
		"users1.csv":               "must begin with",
		"usersDeleted_1.csv":       "must begin with",
		"my_users_1.csv":           "must begin with",
		".users_1.csv":             "must begin with",
		"user_1.csv":               "must begin with",
		"events_1.csv":             "must begin with",
		"in/users_1.csv":           "must begin with",
		"ſers_1.csv":               "must begin with",
		strings.Repeat("a", 1<<16): "must end in",
	} {
		if got, err := TypeOf(name); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%.40s: %s, %v", name, got, err)
		}
	}
}

// Each type of import has a prefix, and no name has two.
func TestPrefixes_AreOneForEachImport(t *testing.T) {
	seen := map[job.Type]int{}
	for _, p := range Prefixes() {
		seen[p.Type]++
		for _, other := range Prefixes() {
			if p != other && strings.HasPrefix(strings.ToLower(p.Text), strings.ToLower(other.Text)) {
				t.Errorf("%s begins with %s", p.Text, other.Text)
			}
		}
	}
	for _, typ := range job.Types() {
		if want := map[bool]int{true: 1}[typ.Import()]; seen[typ] != want {
			t.Errorf("%s has %d prefixes", typ, seen[typ])
		}
	}
}
