package auth

import (
	"errors"
	"testing"

	"kith/core"
)

// Each mode and each caller (clients 2.3).
func TestAdmit(t *testing.T) {
	for _, row := range []struct {
		mode Mode
		want [4]core.Code // of Anonymous, OtherUser, SameUser, KeyHolder
	}{
		{Signed, [4]core.Code{core.CodeUnauthenticated, core.CodeForbidden, admitted, admitted}},
		{Open, [4]core.Code{admitted, core.CodeForbidden, admitted, admitted}},
		{Disabled, [4]core.Code{core.CodeForbidden, core.CodeForbidden, core.CodeForbidden, admitted}},
	} {
		for _, e := range Endpoints() {
			var s SecureMode
			s[e] = row.mode
			for b, want := range row.want {
				err := s.Admit(e, Bearer(b))
				got := admitted
				var known *core.Error
				if errors.As(err, &known) {
					got = known.Code
				}
				if got != want || s[e].Admits(Bearer(b)) != (want == admitted) {
					t.Errorf("%v, %v, bearer %d: %v", e, row.mode, b, err)
				}
			}
		}
	}
}

// admitted means no error in these tables.
const admitted core.Code = 255

func TestDefaultSecureMode(t *testing.T) {
	for _, e := range Endpoints() {
		want := Signed
		if e == GetWidget {
			want = Open
		}
		if got := DefaultSecureMode()[e]; got != want {
			t.Errorf("%v: %v", e, got)
		}
	}
}

func TestSecureMode_With(t *testing.T) {
	s, err := DefaultSecureMode().With("f", "upsert-user=open,,track-events=disabled,get-widget=signed,upsert-user=disabled")
	want := SecureMode{UpsertUser: Disabled, TrackEvents: Disabled}
	if err != nil || s != want {
		t.Errorf("%v, %v", s, err)
	}
	for _, changes := range []string{"upsert-user", "upsert-user=", "upsert-user=Open", "x=open", "=open", "upsert-user=open=open", " upsert-user=open"} {
		if s, err := DefaultSecureMode().With("f", changes); err == nil {
			t.Errorf("%q gives %v", changes, s)
		}
	}
	for _, e := range Endpoints() {
		for _, m := range []Mode{Signed, Open, Disabled} {
			s, err := SecureMode{}.With("f", e.String()+"="+m.String())
			if err != nil || s[e] != m {
				t.Errorf("%v=%v: %v, %v", e, m, s, err)
			}
		}
	}
}

func TestParseBrowserPayment(t *testing.T) {
	for s, want := range map[string]bool{"any": true, "signed": true, "": false, "Any": false, "none": false} {
		if _, ok := ParseBrowserPayment(s); ok != want {
			t.Errorf("%q: %v", s, ok)
		}
	}
}
