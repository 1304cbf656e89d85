package referral

import (
	"slices"
	"strings"
	"testing"
)

func TestUser_Terms(t *testing.T) {
	long := strings.Repeat("ä", 40)
	for _, c := range []struct {
		user User
		want []string
	}{
		{User{}, nil},
		{User{ID: "U1", Account: "A1"}, []string{"a1", "u1"}},
		{User{ID: "ann@x.y", Account: "ann@x.y", Email: " Ann@X.y "}, []string{"ann@x.y", "x.y"}},
		{User{ID: "u", FirstName: "Anna  Maria", LastName: "von Ärlen"}, []string{"anna", "maria", "u", "von", "ärlen"}},
		{User{ID: "+49 170 5", Account: "é %"}, []string{"%", "+49", "+49 170 5", "170", "5", "é", "é %"}},
		{User{ID: "u", FirstName: "Ann", LastName: "ANN"}, []string{"ann", "u"}},
		{User{ID: "u", FirstName: long}, []string{"u", strings.Repeat("ä", 32)}},
		{User{ID: "u", FirstName: "x" + long}, []string{"u", "x" + strings.Repeat("ä", 31)}},
	} {
		if got := c.user.Terms(); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c.user, got)
		}
	}
	many := User{ID: "u", FirstName: strings.Join(strings.Split("abcdefghijklmnopqrst", ""), " ")}
	if got := many.Terms(); len(got) != maxTerms || !slices.Contains(got, "u") {
		t.Errorf("%q", got)
	}
}

func TestSearchWords(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "  \t": nil, "Ann": {"ann"}, " ÄRLA  Berg ": {"ärla", "berg"}, "a b c d e": {"a", "b", "c", "d", "e"},
		strings.Repeat("x", 65): {strings.Repeat("x", 64)},
	} {
		if got, err := SearchWords("query", text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if _, err := SearchWords("query", "a b c d e f"); err == nil {
		t.Error("six words")
	}
}
