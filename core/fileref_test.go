package core

import (
	"strings"
	"testing"
)

func TestNewFileRef(t *testing.T) {
	const id = "01a1fc7021e97c971ff0e2d0"
	for _, c := range []struct{ name, want string }{
		{"userEvents.jsonl", "imports/acme/userEvents_" + id + ".csv"},
		{"", "imports/acme/file_" + id + ".csv"},
		{"../../etc/passwd", "imports/acme/passwd_" + id + ".csv"},
		{`C:\Users\Ann\my list (2).csv`, "imports/acme/mylist2_" + id + ".csv"},
		{"..", "imports/acme/file_" + id + ".csv"},
		{"über\x00\n", "imports/acme/ber_" + id + ".csv"},
		{strings.Repeat("a", 100), "imports/acme/" + strings.Repeat("a", 64) + "_" + id + ".csv"},
	} {
		got := NewFileRef(ImportFolder, "acme", c.name, "csv", id)
		if string(got) != c.want {
			t.Errorf("%q: %q, want %q", c.name, got, c.want)
		}
		if _, err := ParseFileRef("fileRef", "acme", string(got)); err != nil {
			t.Errorf("%q does not parse: %v", got, err)
		}
		if want := c.want[len("imports/acme/"):]; got.Name() != want {
			t.Errorf("%q has the name %q, want %q", got, got.Name(), want)
		}
	}
}

func TestParseFileRef_Refuses(t *testing.T) {
	for _, s := range []string{
		"", "x.csv", "imports/acme/", "imports/other/x_1.csv", "exports/acme/x_1.csv", "imports/acme/../other/x.csv",
		"imports/acme/a/b.csv", "imports/acme/..", "imports/acme/x y.csv", "imports/acme/" + strings.Repeat("a", 201),
	} {
		if got, err := ParseFileRef("fileRef", "acme", s); err == nil {
			t.Errorf("%q was accepted as %q", s, got)
		}
	}
}
