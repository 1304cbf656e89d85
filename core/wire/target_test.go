package wire

import (
	"slices"
	"strings"
	"testing"

	"kith/core/link"
)

func TestItems_ReadsWhatListWrote(t *testing.T) {
	for _, texts := range [][]string{nil, {""}, {"a", "", "3:abc", "grüße\x00"}, {strings.Repeat("x", 70_000), "1"}} {
		got, ok := Items(List(texts))
		if !ok || !slices.Equal(got, texts) {
			t.Errorf("%q was decoded as %q", texts, got)
		}
	}
	for _, text := range []string{"1", "1:", "-1:a", "x:a", ":a", "2:a", "1:ab", "99999999999999999999:a"} {
		if got, ok := Items(text); ok {
			t.Errorf("%q was read as %q", text, got)
		}
	}
}

// The texts of a target are read as they were written.
func TestTarget(t *testing.T) {
	want := link.Target{
		Tenant: "demo", Policy: link.Policy{Consent: "opt-in", ConsentCookie: "c"}, SquatchParameter: true, MasterKey: "a b",
		Program: link.Program{
			Key: "classic", LandingURL: "https://shop.example/?a=\"1\"", AllowedHosts: []string{"a.example", "b.example:8080"}, CookieLife: 7,
			UTMSource: "s", UTMCampaign: "Grüße",
		},
	}
	got, ok := Target(TargetOf(want))
	if !ok || got.Program.LandingURL != want.Program.LandingURL || !slices.Equal(got.Program.AllowedHosts, want.Program.AllowedHosts) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	got.Program.AllowedHosts, want.Program.AllowedHosts = nil, nil
	if got.Tenant != want.Tenant || got.Policy != want.Policy || got.SquatchParameter != want.SquatchParameter || got.MasterKey != want.MasterKey ||
		got.Program.Key != want.Program.Key || got.Program.CookieLife != want.Program.CookieLife || got.Program.UTMSource != want.Program.UTMSource || got.Program.UTMCampaign != want.Program.UTMCampaign {
		t.Errorf("%+v, want %+v", got, want)
	}
	if _, ok := Target(TargetOf(want)[1:]); ok {
		t.Error("a text is missing")
	}
}

func FuzzItems(f *testing.F) {
	f.Add("1:a2:bc")
	f.Fuzz(func(t *testing.T, text string) {
		if texts, ok := Items(text); ok && len(List(texts)) > len(text) {
			t.Errorf("%q grew to %q", text, List(texts))
		}
	})
}
