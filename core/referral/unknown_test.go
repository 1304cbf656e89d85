package referral

import (
	"slices"
	"strings"
	"testing"

	"kith/core"
)

func TestNearCodes(t *testing.T) {
	for _, typed := range []string{"ana10", "anna 10", "ANNA 1O", "ANNA110", "NANA10", "»anna10«", "XANNA10"} {
		if !slices.Contains(NearCodes(typed), core.ReferralCode("ANNA10")) {
			t.Errorf("%q is not near ANNA10", typed)
		}
	}
	for _, typed := range []string{"", "ä!", "AB", strings.Repeat("A", 21)} {
		if all := NearCodes(typed); all != nil {
			t.Errorf("%q: %q", typed, all)
		}
	}
	if n := len(NearCodes(strings.Repeat("A", 20))); n > 20*79+50 {
		t.Errorf("%d codes", n)
	}
}
