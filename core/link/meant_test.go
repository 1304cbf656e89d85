package link

import (
	"strings"
	"testing"

	"kith/core"
)

func TestMeantCode(t *testing.T) {
	for text, want := range map[string]core.ReferralCode{
		"ANNA10": "ANNA10", " anna10\t\r\n": "anna10", "\u200bANNA10\ufeff\u00a0": "ANNA10", "": "", " \u2003": "",
		"https://go.shop.example/s/shop/ANNA10":              "ANNA10",
		"https://go.shop.example/s/shop/ANNA10/?rsEngage=1#": "ANNA10",
		" go.shop.example/s/shop/ANNA10 ":                    "ANNA10",
		"https://shop.example/?a=1&rsCode=ANNA10#top":        "ANNA10",
		"https://shop.example/?rs%43ode=ANNA10":              "ANNA10",
		// Neither of this tenant, nor a code.
		"https://go.shop.example/s/other/ANNA10": "https://go.shop.example/s/other/ANNA10",
		"https://go.shop.example/s/shop/a%20b":   "https://go.shop.example/s/shop/a%20b",
		"https://shop.example/?rsCode=a+b":       "https://shop.example/?rsCode=a+b",
		"anna 10":                                "anna 10",
		"not a code!":                            "not a code!",
		strings.Repeat("ä", 40):                  core.ReferralCode(strings.Repeat("ä", 30) + "…"),
		strings.Repeat("a", 65):                  core.ReferralCode(strings.Repeat("a", 61) + "…"),
	} {
		if got := MeantCode("shop", text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
