//go:build !tinygo

package auth

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"kith/core"
)

func FuzzParseCredentials(f *testing.F) {
	for _, s := range []string{"", basic(":KEY"), basic("KEY:"), basic("acme:KEY"), basic(":"), "Bearer a.b.c", "Bearer", "Basic \xff"} {
		f.Add(s, "")
		f.Add(s, "a.b.c")
	}
	f.Fuzz(func(t *testing.T, authorization, userToken string) {
		got, err := ParseCredentials(authorization, userToken)
		var e *core.Error
		if err != nil && (!errors.As(err, &e) || e.Code != core.CodeUnauthenticated) {
			t.Errorf("%#v is not a refusal", err)
		}
		if err != nil && got != (Credentials{}) || got.Key != "" && got.Token != "" {
			t.Errorf("%+v with %v", got, err)
		}
	})
}

func FuzzHop_Verify(f *testing.F) {
	const now core.Time = 1_700_000_000_000
	key, err := ParseKeyring("00000000000000000000000000000000000000000000000000000000000000ff")
	if err != nil {
		f.Fatal(err)
	}
	hop := Hop{Method: "GET", URI: "/"}
	f.Add(hop.Sign(key.Hop(), now))
	f.Add(hop.Sign(key.Hop(), now-core.Minute))
	for _, s := range []string{"", ".", "1700000000000.", "-9223372036854775808.AAAA", "99999999999999999999.AAAA"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, signature string) {
		if hop.Verify(key.Hop(), signature, now, ClockTolerance) != "" {
			return
		}
		at, _, _ := strings.Cut(signature, ".")
		n, err := strconv.ParseInt(at, 10, 64)
		if err != nil || hop.Sign(key.Hop(), core.Time(n)) != signature {
			t.Errorf("%q verifies and was not signed", signature)
		}
	})
}
