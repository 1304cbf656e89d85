package importfile

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"kith/core/job"
)

func names(names ...string) []string { return names }

func TestParseHeader(t *testing.T) {
	l, problems := ParseHeader(job.ImportUser, names("customFields.b", "id", "referredBy.code", "accountId", "shareLink", "customFields.a.c",
		"sharelinks.p", "referredBy.isConverted", "referralCodes.classic"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var order []string
	for _, i := range l.Order {
		order = append(order, l.Columns[i].Name())
	}
	want := "accountId customFields.a.c customFields.b id referralCodes.classic referredBy.code referredBy.isConverted shareLinks.p"
	if strings.Join(order, " ") != want || len(l.Columns) != 9 || !l.Columns[4].Ignored {
		t.Errorf("%v", order)
	}
	if e := l.CheckRow(make([]string, 9)); e != nil {
		t.Error(e)
	}
	if e := l.CheckRow(make([]string, 8)); e == nil || e.Message != "the row has 8 cells, and the header 9" {
		t.Error(e)
	}
}

// All problems are reported, not only the first.
func TestParseHeader_Problems(t *testing.T) {
	for _, c := range []struct {
		typ  job.Type
		head []string
		want []string
	}{
		{job.ImportUser, names("accountid", "id", "firstname", "id", "", "nick"), []string{
			"column accountid: is not a column of this type of job; the name is accountId, in this case and without blanks",
			"column firstname: is not a column of this type of job; the name is firstName, in this case and without blanks",
			"column id: is there twice",
			"column 5 has no name",
			"column nick: is not a column of this type of job",
			"column accountId: is required, and the header does not have it",
		}},
		{job.ImportUser, names("accountId;id;email"), []string{
			"column accountId;id;email: is not a column of this type of job; separate columns by commas",
			"column accountId: is required, and the header does not have it",
			"column id: is required, and the header does not have it",
		}},
		{job.ImportUser, names("accountId", "id", "customFields.a", "customFields.a.b", "customFields.", "customFields.x..y", "sharelinks.p", "shareLinks.p"), []string{
			"column customFields.: is not a column of this type of job",
			"column customFields.x..y: is not a column of this type of job",
			"column shareLinks.p: is there twice",
			"column customFields.a: is both a value and the prefix of another column; rename one of them",
		}},
		{job.ImportUserEvent, names("accountId", "id", "event.key", "event.fields.revenue", "event.id"), []string{
			"column id: is not a column of this type of job",
			"column event.id: is not a column of this type of job",
			"column userId: is required, and the header does not have it",
		}},
		{job.ImportDelete, names("accountId", "id", "doNotTrack", "preserveEmptyAccounts"), []string{
			"column preserveEmptyAccounts: is not a column of this type of job",
		}},
		{job.ImportRedeem, names("user.accountId", "user.id", "unit", "availableValue"), []string{
			"column valueToRedeem: is required, and the header does not have it",
		}},
		{job.ImportRedeem, names("user.accountId", "accountId", "id", "unit", "valueToRedeem"), []string{"column accountId: is there twice"}},
	} {
		_, problems := ParseHeader(c.typ, c.head)
		var got []string
		for _, p := range problems {
			got = append(got, p.Error())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %v:\n%s\nwant\n%s", c.typ, c.head, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestParseHeader_TooManyColumns(t *testing.T) {
	all := names("accountId", "id")
	for i := range 99_998 {
		all = append(all, "customFields.f"+strconv.Itoa(i))
	}
	_, problems := ParseHeader(job.ImportUser, all)
	if len(problems) != 1 || problems[0].Error() != "the header has 100000 columns; a file may have 1000" {
		t.Error(problems[:min(3, len(problems))])
	}
	if _, problems = ParseHeader(job.ImportUser, all[:1000]); len(problems) != 0 {
		t.Error(problems)
	}
}

func TestProblem_Error(t *testing.T) {
	for want, p := range map[string]Problem{
		"r": {Reason: "r"}, "row 3: r": {Record: 3, Reason: "r"}, "column c: r": {Column: "c", Reason: "r"},
		"row 3, column c: r": {Record: 3, Column: "c", Reason: "r"},
	} {
		if p.Error() != want {
			t.Error(p.Error())
		}
	}
}
