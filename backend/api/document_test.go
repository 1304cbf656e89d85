package api

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kith/backend/app/jobs"
	"kith/backend/app/statistics"
	"kith/backend/store/programdb"
	"kith/core"
	"kith/core/analytics"
	"kith/core/auth"
	"kith/core/conversion"
	"kith/core/event"
	"kith/core/job"
	"kith/core/people"
	"kith/core/pipeline"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/webhook"
	"kith/core/widget"
	"kith/core/wire"
)

// rows returns the rows of the tables below a heading of docs/api.md, by the first cell
// or, in a table of four columns, by the first two.
func rows(t *testing.T, heading string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/api.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	require.True(t, found, heading)
	section, _, _ = strings.Cut(section, "\n## ")
	all := map[string][]string{}
	for line := range strings.Lines(section) {
		if cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|"); len(cells) > 1 {
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			all[strings.Join(cells[:max(1, len(cells)-2)], " ")] = cells
		}
	}
	return all
}

// constantIn returns the value of an unexported constant in a file of another package, or
// of a key of a composite literal; if several have the key, the last one.
func constantIn(t *testing.T, file, name string) int64 {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, filepath.Join("../..", file), nil, 0)
	require.NoError(t, err)
	var found constant.Value
	ast.Inspect(parsed, func(n ast.Node) bool {
		var value ast.Expr
		switch n := n.(type) {
		case *ast.ValueSpec:
			if len(n.Values) == 1 && n.Names[0].Name == name {
				value = n.Values[0]
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == name {
				value = n.Value
			}
		}
		if value != nil {
			if v, err := types.Eval(files, nil, token.NoPos, types.ExprString(value)); err == nil && v.Value != nil {
				found = v.Value
			}
		}
		return true
	})
	require.NotNil(t, found, "%s has no %s", file, name)
	n, exact := constant.Int64Val(found)
	require.True(t, exact)
	return n
}

// Each limit in docs/api.md is that of the code, and every row is compared.
func TestAPIDocument_LimitsAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	in := func(file, name string) int64 { return constantIn(t, file, name) }
	const bound = "backend/graphql/bound.go"
	want := map[string]string{
		"JSON body":                             fmt.Sprintf("%d MiB, %d levels deep", wire.MaxBody>>20, in("core/wire/doc.go", "maxDepth")),
		"body at the edge":                      fmt.Sprintf("%d MiB; `KITH_MAX_BODY`", defaultOf(t, "KITH_MAX_BODY")>>20),
		"file of an import":                     fmt.Sprintf("%d GiB; `KITH_MAX_FILE`", jobs.DefaultMaxFile>>30),
		"all files of a tenant":                 fmt.Sprintf("%d GiB; `KITH_MAX_STORAGE`", jobs.DefaultMaxStorage>>30),
		"`limit` of a REST list":                fmt.Sprintf("%d unless given, at most %d; of the audit log %d", defaultLimit, maxLimit, people.MaxAuditPage),
		"`limit` of a GraphQL list":             fmt.Sprintf("%d unless given, at most %d", in(bound, "defaultLimit"), in(bound, "maxLimit")),
		"account id, user id":                   fmt.Sprintf("%d bytes", in("core/id.go", "maxID")),
		"tenant alias, a code that a user gets": fmt.Sprintf("%d characters", in("core/id.go", "maxName")),
		"a code that refers a user":             fmt.Sprintf("%d characters", in("core/id.go", "maxName")),
		"text, such as a name":                  fmt.Sprintf("%d bytes", in("core/wire/doc.go", "maxText")),
		"events of a call":                      fmt.Sprint(event.MaxEvents),
		"key of an event":                       fmt.Sprintf("%d bytes", event.MaxKey),
		"text in the fields of an event":        fmt.Sprintf("%d bytes", event.MaxText),
		"custom fields of a user":               fmt.Sprintf("%d of %d bytes", in("core/wire/user.go", "maxCustomFields"), in("core/wire/user.go", "maxCustomFieldText")),
		"segments of a user":                    fmt.Sprint(referral.MaxSegments),
		"users of an account":                   fmt.Sprint(referral.MaxUsers),
		fmt.Sprintf("users that a search finds, in a tenant with more than %d", referral.MaxSearched): fmt.Sprint(referral.MaxFound),
		"users that GraphQL `sortBy` sorts by other fields than `accountId`":                          fmt.Sprint(referral.MaxSorted),
		"programs of a tenant":                         fmt.Sprint(referral.MaxPrograms),
		"conditions of a program":                      fmt.Sprintf("%d of %d bytes, %d values in a list", conversion.MaxConditions, conversion.MaxCondition, conversion.MaxValues),
		"tiers of a reward":                            fmt.Sprint(conversion.MaxTiers),
		"partial refunds of an order":                  fmt.Sprint(conversion.MaxRefunds),
		"versions of a program that are kept":          fmt.Sprint(programdb.MaxVersions),
		"codes of a fuel tank":                         fmt.Sprintf("%d, %d in a call", reward.MaxTank, reward.MaxTankCodes),
		"one reward":                                   fmt.Sprintf("%d units", reward.MaxValue),
		"referrals of a moderation":                    fmt.Sprint(referral.MaxModerations),
		"points of an analytics series; top referrers": fmt.Sprintf("%d; %d", analytics.MostPoints, analytics.MostReferrers),
		"inputs of a GraphQL call with many inputs":    fmt.Sprint(in("backend/graphql/identify.go", "maxInputs")),
		"idempotency key":                              fmt.Sprintf("8 to 64 letters, digits, `.`, `_` and `-`; %d h", event.KeyLife/core.Hour),
		"API keys of a tenant":                         fmt.Sprint(auth.MaxKeys),
		"webhook endpoints of a tenant":                fmt.Sprint(webhook.MaxSubscriptions),
		"widget template":                              fmt.Sprintf("%d KiB", widget.MaxTemplate>>10),
		"widget options":                               fmt.Sprintf("%d KiB", widget.MaxOptions>>10),
		"user token":                                   fmt.Sprintf("%d KiB", in("core/wire/token.go", "maxToken")>>10),
		"download link of a file":                      fmt.Sprintf("%d h", auth.DownloadLife/core.Hour),
		"files of jobs":                                fmt.Sprintf("%d days", job.Life/core.Day),
		"call of a pipeline":                           fmt.Sprintf("%d bytes, %d messages", pipeline.MaxBody, pipeline.MaxMessages),
		"GraphQL document": fmt.Sprintf("%d KiB, %d tokens, %d fields, %d at the top, %d levels deep", in(bound, "maxQuery")>>10, in(bound, "maxTokens"),
			in(bound, "maxFields"), in(bound, "maxRoot"), in(bound, "maxDepth")),
		"GraphQL answer":                                                     fmt.Sprintf("%d fields, %d MiB", in(bound, "maxCost"), 4),
		"GraphQL call without credentials":                                   fmt.Sprintf("%d KiB, %d fields, %d MiB of answer", in(bound, "body")>>10, in(bound, "fields"), in(bound, "answer")>>20),
		"time of a GraphQL call":                                             "20 s",
		"uploads of a tenant that no job has read":                           fmt.Sprintf("%d, each for a day", jobs.MaxUnused),
		"counts without credentials, from one network and minute":            fmt.Sprint(statistics.ReportsPerMinute),
		"counts of a widget, of one user, program and kind in an hour":       fmt.Sprint(statistics.ReportsPerHour),
		"attempts to guess codes, keys and ids, from one network and minute": fmt.Sprintf("%d; `KITH_RATE_LIMIT`", defaultOf(t, "KITH_RATE_LIMIT")),
		"what": "limit", "---": "---",
	}
	got := map[string]string{}
	for name, cells := range rows(t, "Limits") {
		got[name] = cells[1]
	}
	require.Equal(t, want, got)
	require.Equal(t, event.KeyLife, core.Time(reward.KeyLife))
	require.NoError(t, check(core.ParseIdempotencyKey)(strings.Repeat("a", 64)))
	require.Error(t, check(core.ParseIdempotencyKey)(strings.Repeat("a", 65)))
	require.Error(t, check(core.ParseIdempotencyKey)(strings.Repeat("a", 7)))
}

// defaultOf returns the default of a variable in docs/configure.md, which another test
// compares with the program.
func defaultOf(t *testing.T, variable string) (n int64) {
	t.Helper()
	text, err := os.ReadFile("../../docs/configure.md")
	require.NoError(t, err)
	m := regexp.MustCompile("\\| `" + variable + "` \\| `([0-9]+)` \\|").FindStringSubmatch(string(text))
	require.NotNil(t, m, variable)
	_, err = fmt.Sscan(m[1], &n)
	require.NoError(t, err)
	return n
}

// docs/api.md has each apiErrorCode with its status, and each role.
func TestAPIDocument_ErrorsAndRolesAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	var want []string
	for _, c := range core.Codes() {
		_, status, word := wire.Shown(&core.Error{Code: c})
		want = append(want, fmt.Sprintf("%d `%s`", status, word))
	}
	want = append(want, "400 `BAD_REQUEST`", "431 `HEADERS_TOO_LARGE`")
	got := slices.DeleteFunc(slices.Collect(maps.Keys(rows(t, "Errors"))), func(name string) bool { return !strings.Contains("45", name[:1]) })
	assert.ElementsMatch(t, want, got)
	for _, role := range auth.Roles() {
		assert.Contains(t, rows(t, "Credentials"), "`"+string(role)+"`")
	}
}
