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
		"sharelinks.p", "referredBy.isConverted", "referralCodes.classic"), nil)
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
	if cells, e := l.Row(make([]string, 12)); e != nil || len(cells) != 9 {
		t.Error(e, cells)
	}
	for _, cells := range [][]string{make([]string, 8), append(make([]string, 9), "x")} {
		if _, e := l.Row(cells); e == nil || !strings.Contains(e.Message, "cells, and the header 9") {
			t.Error(e)
		}
	}
}

// An export for people has each date twice, and can be imported again.
func TestParseHeader_ExportForPeople(t *testing.T) {
	l, problems := ParseHeader(job.ImportUser, names("accountId", "id", "dateCreated (Europe/Berlin)", "dateCreated"), nil)
	if len(problems) > 0 || !l.Columns[2].Ignored || l.Columns[3].Ignored || len(l.Unknown) > 0 {
		t.Error(problems, l)
	}
	if _, problems = ParseHeader(job.ImportUser, names("accountId", "id", "dateCreated (Europe/Berlin)"), nil); len(problems) != 1 {
		t.Error(problems)
	}
}

// A cell that lost the format of a date is not taken for the first minutes of 1970.
func TestRow_SerialDates(t *testing.T) {
	for _, separator := range names(",", ";", "\t") {
		l, problems := ParseHeader(job.ImportUser, names("accountId", "id", "dateCreated"), nil)
		if l.Separator = separator; len(problems) > 0 {
			t.Fatal(problems)
		}
		for _, cell := range names("46082", "46082.375", "46082,375") {
			if _, e := l.Row(names("a", "u", cell)); e == nil || e.Field != "dateCreated" || !strings.Contains(e.Message, cell+", a day as spreadsheets count it") {
				t.Error(separator, cell, e)
			}
		}
		for _, cell := range names("", "1772355600000", "2026-03-01") {
			if _, e := l.Row(names("46082", "46082", cell)); e != nil {
				t.Error(separator, cell, e)
			}
		}
	}
}

const unknown = "is not a column of this type of job; say in params.columns what it is, or leave it out"

// All problems are reported, not only the first.
func TestParseHeader_Problems(t *testing.T) {
	for _, c := range []struct {
		typ  job.Type
		head []string
		want []string
	}{
		{job.ImportUser, names("id", "id", "ID", "", "nick", ""), []string{
			"column id: is there twice",
			"column ID: is there twice",
			"column 4 has no name",
			"column nick: " + unknown,
			`column accountId: is required, and the header does not have it; if this column says who a person is, set params.columns to {"accountId":"id"}`,
		}},
		{job.ImportUser, names("E-Mail", "Vorname", "Kontonummer"), []string{
			`column id: is required, and the header does not have it; if this column says who a person is, set params.columns to {"id":"Kontonummer"}`,
		}},
		{job.ImportUser, names("accountId", "id", "customFields.a", "customFields.a.b", "customFields.", "customFields.x..y", "sharelinks.p", "shareLinks.p"), []string{
			"column customFields.: " + unknown,
			"column customFields.x..y: " + unknown,
			"column shareLinks.p: is there twice",
			"column customFields.a: is both a value and the prefix of another column; rename one of them",
		}},
		{job.ImportUserEvent, names("accountId", "id", "event.key", "event.fields.revenue", "event.id"), []string{
			"column id: " + unknown,
			"column event.id: " + unknown,
			`column userId: is required, and the header does not have it; if this column says who a person is, set params.columns to {"userId":"accountId"}`,
		}},
		{job.ImportDelete, names("accountId", "id", "doNotTrack", "preserveEmptyAccounts"), []string{
			"column preserveEmptyAccounts: " + unknown,
		}},
		{job.ImportRedeem, names("user.accountId", "user.id", "unit", "availableValue"), []string{
			"column valueToRedeem: is required, and the header does not have it",
		}},
		{job.ImportRedeem, names("user.accountId", "accountId", "id", "unit", "valueToRedeem"), []string{"column accountId: is there twice"}},
	} {
		_, problems := ParseHeader(c.typ, c.head, nil)
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
	_, problems := ParseHeader(job.ImportUser, all, nil)
	if len(problems) != 1 || problems[0].Error() != "the header has 100000 columns; a file may have 1000" {
		t.Error(problems[:min(3, len(problems))])
	}
	if _, problems = ParseHeader(job.ImportUser, all[:1000], nil); len(problems) != 0 {
		t.Error(problems)
	}
}

func TestProblem_Error(t *testing.T) {
	for want, p := range map[string]Problem{
		"r": {Reason: "r"}, "row 3: r": {Row: 3, Reason: "r"}, "column c: r": {Column: "c", Reason: "r"},
		"row 3, column c: r": {Row: 3, Column: "c", Reason: "r"},
	} {
		if p.Error() != want {
			t.Error(p.Error())
		}
	}
}
