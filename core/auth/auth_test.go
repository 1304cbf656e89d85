package auth

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"kith/core"
)

func basic(pair string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(pair))
}

func TestParseCredentials(t *testing.T) {
	for _, c := range []struct {
		name                     string
		authorization, userToken string
		want                     Credentials
	}{
		{name: "nothing is anonymous"},
		{name: "empty user name with the key as password", authorization: basic(":KEY"), want: Credentials{Key: "KEY"}},
		{name: "key as user name with empty password", authorization: basic("KEY:"), want: Credentials{Key: "KEY"}},
		{name: "key twice", authorization: basic("KEY:KEY"), want: Credentials{Key: "KEY"}},
		{name: "an id and the key", authorization: basic("acme:KEY"), want: Credentials{Key: "KEY"}},
		{name: "key with colons as password", authorization: basic(":K:E:Y"), want: Credentials{Key: "K:E:Y"}},
		{name: "scheme in mixed case", authorization: "bAsIc " + base64.StdEncoding.EncodeToString([]byte(":KEY")), want: Credentials{Key: "KEY"}},
		{name: "surrounding blanks", authorization: "  " + strings.Replace(basic(":KEY"), " ", "   ", 1) + " ", want: Credentials{Key: "KEY"}},
		{name: "bearer", authorization: "Bearer a.b.c", want: Credentials{Token: "a.b.c"}},
		{name: "bearer in lower case", authorization: "bearer a.b.c", want: Credentials{Token: "a.b.c"}},
		{name: "bearer without a token", authorization: "Bearer"},
		{name: "bearer of a blank", authorization: "Bearer "},
		{name: "bearer of undefined", authorization: "Bearer undefined"},
		{name: "bearer of null", authorization: "Bearer null"},
		{name: "own header", userToken: "a.b.c", want: Credentials{Token: "a.b.c"}},
		{name: "own header with blanks", userToken: " a.b.c ", want: Credentials{Token: "a.b.c"}},
		{name: "own header of undefined", userToken: "undefined"},
		{name: "empty bearer leaves the own header", authorization: "Bearer ", userToken: "a.b.c", want: Credentials{Token: "a.b.c"}},
		{name: "bearer before the own header", authorization: "Bearer a.b.c", userToken: "d.e.f", want: Credentials{Token: "a.b.c"}},
		{name: "key before the own header", authorization: basic(":KEY"), userToken: "d.e.f", want: Credentials{Key: "KEY"}},
	} {
		got, err := ParseCredentials(c.authorization, c.userToken)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
}

func TestParseCredentials_Refused(t *testing.T) {
	for name, authorization := range map[string]string{
		"not base64":                   "Basic ???",
		"no colon":                     basic("KEY"),
		"nothing":                      "Basic",
		"neither user nor password":    basic(":"),
		"another scheme":               "Digest abc",
		"a key without scheme":         "KEY",
		"a token without scheme":       "a.b.c",
		"base64 with the URL alphabet": "Basic " + base64.URLEncoding.EncodeToString([]byte(":\xff\xfe\xfd???")),
		"no blank after the scheme":    strings.Replace(basic(":KEY"), " ", "", 1),
	} {
		got, err := ParseCredentials(authorization, "a.b.c")
		e, ok := err.(*core.Error)
		if !ok || e.Code != core.CodeUnauthenticated || got != (Credentials{}) {
			t.Errorf("%s: %+v, %v; want a refusal", name, got, err)
		}
	}
}

func ring(t *testing.T, fill byte) Keyring {
	t.Helper()
	k, err := ParseKeyring(strings.Repeat(string([]byte{hexDigit(fill)}), 64))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func hexDigit(b byte) byte { return "0123456789abcdef"[b&15] }

// A prepared keyring signs, verifies and names its keys as the original, again and again.
func TestKeyring_Prepared(t *testing.T) {
	both, err := ParseKeyring(strings.Repeat("a", 64) + "," + strings.Repeat("b", 64))
	if err != nil {
		t.Fatal(err)
	}
	prepared := both.Prepared()
	for _, text := range []string{"first", "", "first", strings.Repeat("long", 100)} {
		if got, want := prepared.Cookie("demo").Sign(text), both.Cookie("demo").Sign(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
		if !prepared.Hop().Verify(text, ring(t, 0xb).Hop().Sign(text)) {
			t.Errorf("%q: a signature by the second key is not accepted", text)
		}
	}
	if prepared.Fingerprint() != both.Fingerprint() {
		t.Error("another fingerprint")
	}
	if found, ok := prepared.Find(ring(t, 0xb).Fingerprint()); !ok || found.Fingerprint() != ring(t, 0xb).Fingerprint() {
		t.Error("the second key is not found")
	}
}

func TestParseKeyring(t *testing.T) {
	raw := make([]byte, 32)
	for i := range raw {
		raw[i] = byte(255 - i)
	}
	want := Keyring{masters: []master{{key: raw}}}.Hop().Sign("text")
	for _, text := range []string{
		hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)),
		base64.StdEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw),
		hex.EncodeToString(raw) + "\n" + strings.Repeat("2", 64) + "\r\n", hex.EncodeToString(raw) + "," + strings.Repeat("2", 64),
	} {
		k, err := ParseKeyring(text)
		if err != nil || k.Hop().Sign("text") != want {
			t.Errorf("%q: %v, or another key", text, err)
		}
	}
	for _, text := range []string{
		"", "secret", hex.EncodeToString(raw[:31]), hex.EncodeToString(append(raw, 0)),
		base64.StdEncoding.EncodeToString(raw[:31]), hex.EncodeToString(raw) + "\n2", "\n,",
	} {
		if _, err := ParseKeyring(text); err == nil {
			t.Errorf("%q was accepted as a master key", text)
		}
	}
}

// A signature is valid only for its purpose, tenant and master key.
func TestSigner(t *testing.T) {
	a, b := ring(t, 1), ring(t, 2)
	signers := []Signer{a.Cookie("acme"), a.Cookie("test_acme"), a.Cookie(""), a.CookieUser("acme"), a.CookieUser("test_acme"), a.Hop(), b.Cookie("acme"), b.Hop()}
	for i, signer := range signers {
		signature := signer.Sign("text")
		if len(signature) != 43 || !signer.Verify("text", signature) {
			t.Errorf("signer %d does not verify its own %q", i, signature)
		}
		if signer.Verify("text ", signature) || signer.Verify("text", signature+"A") || signer.Verify("text", signature[:42]) || signer.Verify("text", "") {
			t.Errorf("signer %d verifies what it did not sign", i)
		}
		for j, other := range signers {
			if i != j && other.Verify("text", signature) {
				t.Errorf("signer %d verifies a signature of signer %d", j, i)
			}
		}
	}
	if a.Cookie("acme").Sign("text") != ring(t, 1).Cookie("acme").Sign("text") {
		t.Error("the same master key gives another signature")
	}
}

func TestKeyring_Seal(t *testing.T) {
	k, place := ring(t, 1), KeyPlace("acme")
	for _, secret := range []string{"", "TEST_key", strings.Repeat("s", 4096), "\x00\xff"} {
		sealed, err := k.Seal(place, secret, [NonceSize]byte{1, 2, 3})
		if err != nil {
			t.Fatal(err)
		}
		got, err := k.Open(place, sealed)
		if err != nil || got != secret {
			t.Errorf("Open = %q, %v; want %q", got, err, secret)
		}
		if secret != "" && strings.Contains(sealed, secret) {
			t.Errorf("%q is visible in %q", secret, sealed)
		}
	}
}

func TestKeyring_Open_Refused(t *testing.T) {
	k, place := ring(t, 1), KeyPlace("acme")
	sealed, err := k.Seal(place, "TEST_key", [NonceSize]byte{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Open(KeyPlace("test_acme"), sealed); err == nil {
		t.Error("it opens in another place")
	}
	if _, err := ring(t, 2).Open(place, sealed); err == nil {
		t.Error("it opens under another master key")
	}
	raw, _ := base64.RawStdEncoding.DecodeString(sealed)
	for i := range raw {
		for bit := range 8 {
			bad := append([]byte(nil), raw...)
			bad[i] ^= 1 << bit
			if got, err := k.Open(place, base64.RawStdEncoding.EncodeToString(bad)); err == nil {
				t.Fatalf("bit %d of byte %d flipped: opens as %q", bit, i, got)
			}
		}
		if got, err := k.Open(place, base64.RawStdEncoding.EncodeToString(raw[:i])); err == nil {
			t.Errorf("cut to %d bytes: opens as %q", i, got)
		}
	}
	for _, text := range []string{"", "?", "not base64 at all", "AAAA"} {
		if got, err := k.Open(place, text); err == nil {
			t.Errorf("%q opens as %q", text, got)
		}
	}
}

func TestHop(t *testing.T) {
	const now core.Time = 1_700_000_000_000
	key := ring(t, 1).Hop()
	hop := Hop{Method: "POST", URI: "/api/v1/acme/accountsync?x=1", For: "192.0.2.1", Proto: "https", Host: "shop.example"}
	signature := hop.Sign(key, now)

	for _, c := range []struct {
		name string
		now  core.Time
		want Refusal
	}{
		{"now", now, ""},
		{"5 minutes old", now + 5*core.Minute, ""},
		{"5 minutes and 1 ms old", now + 5*core.Minute + 1, RefusedClock},
		{"5 minutes ahead", now - 5*core.Minute, ""},
		{"5 minutes and 1 ms ahead", now - 5*core.Minute - 1, RefusedClock},
	} {
		if got := hop.Verify(key, signature, c.now, ClockTolerance); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	if got := hop.Verify(key, signature, now+core.Minute, core.Minute-1); got != RefusedClock {
		t.Errorf("beyond a smaller tolerance: %q", got)
	}
	if got := hop.Verify(ring(t, 2).Hop(), signature, now+core.Hour, ClockTolerance); got != RefusedKey {
		t.Errorf("another key: %q", got)
	}
	for i := range signature {
		for bit := range 8 {
			bad := []byte(signature)
			bad[i] ^= 1 << bit
			if hop.Verify(key, string(bad), now, ClockTolerance) == "" {
				t.Errorf("bit %d of byte %d flipped: %q verifies", bit, i, bad)
			}
		}
		if hop.Verify(key, signature[:i], now, ClockTolerance) == "" {
			t.Errorf("cut to %q it verifies", signature[:i])
		}
	}
	for _, bad := range []string{signature + "A", signature + "=", signature + "\n", " " + signature, "+" + signature, "0" + signature} {
		if hop.Verify(key, bad, now, ClockTolerance) == "" {
			t.Errorf("%q verifies", bad)
		}
	}
}

func TestHop_CoversEachPart(t *testing.T) {
	const now core.Time = 1_700_000_000_000
	key := ring(t, 1).Hop()
	hop := Hop{Method: "GET", URI: "/a", For: "b", Proto: "c", Host: "d"}
	signature := hop.Sign(key, now)
	for _, other := range []Hop{
		{},
		{Method: "PUT", URI: "/a", For: "b", Proto: "c", Host: "d"},
		{Method: "GET", URI: "/A", For: "b", Proto: "c", Host: "d"},
		{Method: "GET", URI: "/a", For: "", Proto: "c", Host: "d"},
		{Method: "GET", URI: "/a", For: "b", Proto: "", Host: "d"},
		{Method: "GET", URI: "/a", For: "b", Proto: "c", Host: "e"},
		{Method: "GET", URI: "/a", For: "c", Proto: "b", Host: "d"},
		{Method: "GET", URI: "/ab", For: "", Proto: "c", Host: "d"},
	} {
		if other.Verify(key, signature, now, ClockTolerance) == "" {
			t.Errorf("%+v verifies with the signature of %+v", other, hop)
		}
	}
}

// The time that a request takes is no difference of the clocks.
func TestClockDifference(t *testing.T) {
	for _, c := range [][4]core.Time{
		{1000, 1200, 1000, 0}, {1000, 1200, 1100, 0}, {1000, 1200, 1200, 0},
		{1000, 1200, 900, -100}, {1000, 1200, 1500, 300},
	} {
		if got := ClockDifference(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("sent %d, answered %d, theirs %d: %d, want %d", c[0], c[1], c[2], got, c[3])
		}
	}
}

// A key belongs to a database whose fingerprint it has, also while it is being replaced.
func TestKeyring_Belongs(t *testing.T) {
	old, next := ring(t, 1), ring(t, 2)
	both, err := ParseKeyring(strings.Repeat("2", 64) + "," + strings.Repeat("1", 64))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name              string
		keys              Keyring
		fingerprint, next string
		want              bool
	}{
		{"a new database", old, "", "", true},
		{"its key", old, old.Fingerprint(), "", true},
		{"another key", next, old.Fingerprint(), "", false},
		{"both, before", both, old.Fingerprint(), "", true},
		{"both, meanwhile", both, old.Fingerprint(), next.Fingerprint(), true},
		{"only the old one, meanwhile", old, old.Fingerprint(), next.Fingerprint(), false},
		{"only the new one, meanwhile", next, old.Fingerprint(), next.Fingerprint(), false},
		{"both, after", both, next.Fingerprint(), "", true},
	} {
		if got := c.keys.Belongs(c.fingerprint, c.next); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// A line break within a part does not split it.
func TestHop_PartsDoNotRunTogether(t *testing.T) {
	const now core.Time = 1_700_000_000_000
	key := ring(t, 1).Hop()
	signature := Hop{URI: "/a\nb", For: "c"}.Sign(key, now)
	if (Hop{URI: "/a", For: "b\nc"}).Verify(key, signature, now, ClockTolerance) == "" {
		t.Error("a part that contains a line break verifies as two")
	}
}

func TestDownload(t *testing.T) {
	keys, err := ParseKeyring(strings.Repeat("0f", 32))
	if err != nil {
		t.Fatal(err)
	}
	link := Download{Job: "j", File: "result", Expires: 1000}
	signature := link.Sign(keys.Download("acme"))
	for _, c := range []struct {
		name   string
		link   Download
		tenant core.TenantAlias
		now    core.Time
		want   bool
	}{
		{"as made", link, "acme", 1, true},
		{"at its last moment", link, "acme", 1000, true},
		{"expired", link, "acme", 1001, false},
		{"another tenant", link, "test_acme", 1, false},
		{"another job", Download{Job: "k", File: "result", Expires: 1000}, "acme", 1, false},
		{"another file", Download{Job: "j", File: "source", Expires: 1000}, "acme", 1, false},
		{"a later expiry", Download{Job: "j", File: "result", Expires: 9000}, "acme", 1, false},
	} {
		if got := c.link.Verify(keys.Download(c.tenant), signature, c.now); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if link.Verify(keys.Download("acme"), "", 1) {
		t.Error("an empty signature was accepted")
	}
}

// While the master key is being replaced, signatures and sealed texts of both keys
// are accepted, and the first key signs and seals.
func TestKeyring_Several(t *testing.T) {
	old, next := ring(t, 1), ring(t, 2)
	both, err := ParseKeyring(strings.Repeat("2", 64) + "," + strings.Repeat("1", 64))
	if err != nil {
		t.Fatal(err)
	}
	place := KeyPlace("acme")
	seal := func(k Keyring) string {
		sealed, err := k.Seal(place, "secret", [NonceSize]byte{1})
		if err != nil {
			t.Fatal(err)
		}
		return sealed
	}
	for _, k := range []Keyring{old, next, both} {
		if got, err := both.Open(place, seal(k)); err != nil || got != "secret" {
			t.Errorf("%q, %v", got, err)
		}
		if !both.Cookie("acme").Verify("text", k.Cookie("acme").Sign("text")) {
			t.Error("a signature is not accepted")
		}
	}
	if _, err := old.Open(place, seal(both)); err == nil {
		t.Error("the second key seals")
	}
	if both.Hop().Sign("text") != next.Hop().Sign("text") || both.Fingerprint() != next.Fingerprint() {
		t.Error("the first key does not sign")
	}
	if _, err := both.First().Open(place, seal(old)); err == nil {
		t.Error("First has the second key")
	}
	if found, ok := both.Find(old.Fingerprint()); !ok || found.Fingerprint() != old.Fingerprint() {
		t.Error("the second key is not found")
	}
	if _, ok := both.Find(ring(t, 3).Fingerprint()); ok {
		t.Error("an unknown key is found")
	}
	if both.Cookie("acme").Verify("text", ring(t, 3).Cookie("acme").Sign("text")) {
		t.Error("a signature of a third key is accepted")
	}
}

// The hash of a user who must not be tracked stays the same when the master key is
// replaced.
func TestKeyring_IdentityStays(t *testing.T) {
	old, next := ring(t, 1), ring(t, 2)
	want := old.Identity("acme", "a", "u")
	if next.Identity("acme", "a", "u") == want || next.WithIdentity(old).Identity("acme", "a", "u") != want {
		t.Error("the identity is not that of its key")
	}
	sealed, err := next.WithIdentity(old).SealIdentity([NonceSize]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	got, err := next.OpenIdentity(sealed)
	if err != nil || got.Identity("acme", "a", "u") != want || got.Fingerprint() != next.Fingerprint() {
		t.Errorf("the opened identity differs: %v", err)
	}
	if _, err := old.OpenIdentity(sealed); err == nil {
		t.Error("another master key opens it")
	}
}
