package referral

import (
	"strings"
	"testing"

	"kith/core"
)

func TestSearch_Check(t *testing.T) {
	for _, c := range []struct {
		search Search
		wants  string
	}{
		{Search{}, ""},
		{Search{Situation: SituationEnded, Moderation: SidePending, Started: core.Span{From: 1, Before: 2}, Code: "ANNA", Program: "classic", Person: "anna@a.example ann"}, ""},
		{Search{Situation: "x"}, "state: must be one of in-progress, converted, ended"},
		{Search{Moderation: "x"}, "moderation: must be one of PENDING, APPROVED, DENIED"},
		{Search{Started: core.Span{From: 2, Before: 2}}, "to: must not be before the first day; exchange the two days"},
		{Search{Code: "a b"}, "code: "},
		{Search{Program: "a b"}, "program: "},
		{Search{Person: "ann b"}, "person: must have at least 3 characters in each word; type more of the address, the name or the id"},
		{Search{Person: "aaa bbb ccc ddd eee fff"}, "person: must not have more than 5 words"},
		{Search{Person: strings.Repeat("a", 255)}, "person: must be at most 254 bytes; shorten it"},
	} {
		got := ""
		if err := c.search.Check(); err != nil {
			got = err.Error()
		}
		if (c.wants == "") != (got == "") || !strings.HasPrefix(got, c.wants) {
			t.Errorf("%+v: %q, want %q", c.search, got, c.wants)
		}
	}
}

func TestPosition(t *testing.T) {
	for _, p := range []Position{{}, {1, "r"}, {1700000000000, "019ca8a0-3e80"}} {
		if got, err := ParsePosition("before", p.String()); got != p || err != nil {
			t.Errorf("%q: %v, %v", p.String(), got, err)
		}
	}
	for _, wrong := range []string{"1", "1-", "x-r", "-1-r", "1-" + strings.Repeat("a", 101)} {
		if _, err := ParsePosition("before", wrong); err == nil || !strings.HasPrefix(err.Error(), "before: is not a page of this list") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}
