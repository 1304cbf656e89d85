package job

import (
	"testing"

	"kith/core"
)

const now core.Time = 1_700_000_000_000

func TestParse(t *testing.T) {
	for _, want := range Types() {
		if got, err := ParseType("type", string(want)); err != nil || got != want || got.Operation()+"/"+got.Task() != string(want) {
			t.Errorf("%q: %q, %v", want, got, err)
		}
	}
	for _, want := range ExportTypes() {
		if got, err := ParseExportType("type", want.Task()); err != nil || got != want {
			t.Errorf("%q: %q, %v", want, got, err)
		}
	}
	for name, err := range map[string]error{
		"type":        second(ParseType("f", "QUERY/US_TAXABLE_VALUE")),
		"no type":     second(ParseType("f", "")),
		"export type": second(ParseExportType("f", "USER_EVENT")),
		"format":      second(ParseFormat("f", "pdf")),
		"dates":       second(ParseDates("f", "iso")),
		"attachment":  second(ParseAttachment("f", "log")),
	} {
		if e, ok := err.(*core.Error); !ok || e.Code != core.CodeInvalid || e.Field != "f" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// Files expire at Expires, not before.
func TestJob_Attached(t *testing.T) {
	done := Job{Status: Completed, Result: "r", Completed: now, Expires: now + Life}
	done.File = "f"
	for _, c := range []struct {
		name  string
		job   Job
		which Attachment
		at    core.Time
		want  core.FileRef
	}{
		{"result", done, ResultFile, now, "r"},
		{"source", done, SourceFile, now, "f"},
		{"no errors", done, ErrorsFile, now, ""},
		{"last moment", done, ResultFile, now + Life - 1, "r"},
		{"expired", done, ResultFile, now + Life, ""},
		{"source expired", done, SourceFile, now + Life, ""},
		{"pending", Job{Status: Pending, Result: "r"}, ResultFile, now, ""},
		{"source of a pending one", Job{Status: Pending, Input: Input{File: "f"}}, SourceFile, now, "f"},
		{"aborted", Job{Status: Aborted, Completed: now, Expires: now + Life}, ResultFile, now, ""},
	} {
		got, err := c.job.Attached(c.which, c.at)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
		if e, ok := err.(*core.Error); err != nil && (!ok || e.Code != core.CodeNotFound) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestJob_ExportStatus(t *testing.T) {
	for _, c := range []struct {
		job  Job
		at   core.Time
		want Status
	}{
		{Job{Status: Pending}, now, Pending},
		{Job{Status: Completed, Expires: now + 1}, now, Completed},
		{Job{Status: Completed, Expires: now}, now, Expired},
		{Job{Status: Aborted, Expires: now}, now, Expired},
	} {
		if got := c.job.ExportStatus(c.at); got != c.want {
			t.Errorf("%+v: %s, want %s", c.job, got, c.want)
		}
	}
}
