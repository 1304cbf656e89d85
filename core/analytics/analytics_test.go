package analytics

import (
	"errors"
	"testing"

	"kith/core"
)

func TestParseEngagementMedium(t *testing.T) {
	for _, m := range engagementMediums {
		if got, err := ParseEngagementMedium("m", string(m), Popup); err != nil || got != m {
			t.Errorf("%q: %q, %v", m, got, err)
		}
	}
	if got, err := ParseEngagementMedium("m", "", Popup); err != nil || got != Popup {
		t.Errorf("unset: %q, %v", got, err)
	}
	for _, s := range []string{"pop-up", "POPUP ", "BILLBOARD", "FACEBOOK", "\x00"} {
		_, err := ParseEngagementMedium("m", s, Popup)
		var e *core.Error
		if !errors.As(err, &e) || e.Code != core.CodeInvalid || e.RS != "RS037" || e.Field != "m" {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestParseShareMedium(t *testing.T) {
	for _, m := range append(shareMediums, "") {
		if got, err := ParseShareMedium("m", string(m)); err != nil || got != m {
			t.Errorf("%q: %q, %v", m, got, err)
		}
	}
	for _, s := range []string{"face", "POPUP", "PIGEON"} {
		if got, err := ParseShareMedium("m", s); err == nil {
			t.Errorf("%q: %q", s, got)
		}
	}
}
