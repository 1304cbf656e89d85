package auth

import "testing"

func TestParseRole(t *testing.T) {
	for _, r := range Roles() {
		if got, err := ParseRole("role", string(r)); err != nil || got != r {
			t.Errorf("%s: %s, %v", r, got, err)
		}
	}
	for _, s := range []string{"", "All", "write", "all "} {
		if got, err := ParseRole("role", s); err == nil {
			t.Errorf("%q is accepted as %s", s, got)
		}
	}
}
