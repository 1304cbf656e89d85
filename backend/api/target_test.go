package api

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/programdb"
	"kith/core/auth"
	"kith/core/link"
)

// A target is given to an edge that keeps it, for the exact code, and if it fits into a header.
func TestGiveTarget(t *testing.T) {
	t.Parallel()
	known := programdb.Target{Code: "ANNA10", LinkMaxAge: 1, Target: link.Target{Tenant: "demo", Program: link.Program{LandingURL: "https://shop.example/"}}}
	hurried, large := known, known
	hurried.LinkMaxAge = 0
	large.Program.AllowedHosts = []string{strings.Repeat("a", maxKept)}
	for name, c := range map[string]struct {
		target programdb.Target
		code   string
		hop    any
		keeps  string
		given  bool
	}{
		"kept":        {known, "ANNA10", auth.Hop{}, auth.KeepsForm, true},
		"not an edge": {known, "ANNA10", nil, auth.KeepsForm, false},
		"not wanted":  {known, "ANNA10", auth.Hop{}, "", false},
		"other form":  {known, "ANNA10", auth.Hop{}, "1", false},
		"no time":     {hurried, "ANNA10", auth.Hop{}, auth.KeepsForm, false},
		"spelling":    {known, "anna10", auth.Hop{}, auth.KeepsForm, false},
		"unknown":     {programdb.Target{Target: known.Target}, "", auth.Hop{}, auth.KeepsForm, false},
		"too large":   {large, "ANNA10", auth.Hop{}, auth.KeepsForm, false},
	} {
		r := httptest.NewRequest("GET", "/s/demo/ANNA10", nil)
		r.Header.Set(auth.KeepsHeader, c.keeps)
		r = r.WithContext(context.WithValue(r.Context(), hopKey{}, c.hop))
		w := httptest.NewRecorder()
		giveTarget(w, r, c.target, c.code)
		require.Equal(t, c.given, w.Header().Get(auth.KeptHeader) != "", name)
	}
}
