package auth

import (
	"strings"
	"testing"

	"kith/core"
)

func TestKeyHash(t *testing.T) {
	hash := KeyHash("KEY")
	if len(hash) != 64 || strings.ToLower(hash) != hash || hash == KeyHash("KEY ") {
		t.Errorf("hash %q is not SHA-256 in hex", hash)
	}
}

func TestParseKeyName(t *testing.T) {
	for _, s := range []string{"a", "default", "Check-out_2.1", strings.Repeat("x", 64)} {
		if got, err := ParseKeyName("name", s); err != nil || got != s {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "a b", "ü", "a/b", "a\nb", strings.Repeat("x", 65)} {
		if _, err := ParseKeyName("name", s); err == nil {
			t.Errorf("%q is accepted", s)
		}
	}
}

// keysOf returns the keys of these rows of the query Keys.
func keysOf(lines ...string) APIKeys { return ParseKeys(strings.Join(lines, "\n")) }

func TestParseKeys(t *testing.T) {
	if got := ParseKeys(""); got != nil {
		t.Errorf("keys of an empty text: %+v", got)
	}
	got := keysOf("default all h s 1 0 0 2", "cut all h", "checkout events i  3 4 5 0", "bad read j  1 0 x 0")
	want := APIKeys{
		{Name: "default", Role: RoleAll, Hash: "h", Sealed: "s", Created: 1, Used: 2},
		{Name: "checkout", Role: RoleEvents, Hash: "i", Created: 3, Replaced: 4, Expires: 5},
		{Name: "bad", Role: RoleRead, Hash: "j", Created: 1, Expires: 1},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("key %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	if got[2].Valid(1) {
		t.Error("a key with an invalid expiry is valid")
	}
}

func TestAPIKeys_Match(t *testing.T) {
	keys := keysOf(
		"default all "+KeyHash("A")+" s 1 0 0 0",
		"checkout events "+KeyHash("B")+"  1 0 100 0",
		"checkout events "+KeyHash("C")+"  1 50 60 0",
	)
	for _, c := range []struct {
		secret string
		now    core.Time
		role   Role
	}{
		{"A", 1, RoleAll}, {"A", 1 << 50, RoleAll},
		{"B", 99, RoleEvents}, {"B", 100, ""},
		{"C", 59, RoleEvents}, {"C", 60, ""},
		{"D", 1, ""}, {"", 1, ""}, {"a", 1, ""}, {KeyHash("A"), 1, ""},
	} {
		k, ok := keys.Match(c.secret, c.now)
		if ok != (c.role != "") || k.Role != c.role {
			t.Errorf("%q at %d: %+v, %v", c.secret, c.now, k, ok)
		}
	}
	if _, ok := (APIKeys{{Hash: ""}}).Match("", 1); ok {
		t.Error("an empty secret matches an empty hash")
	}
}

// What is kept for a secret is not kept longer than the secret is valid.
func TestAPIKey_AtMost(t *testing.T) {
	for _, c := range []struct{ expires, want core.Time }{{0, core.Minute}, {100 + core.Hour, core.Minute}, {107, 7}} {
		if got := (APIKey{Expires: c.expires}).AtMost(core.Minute, 100); got != c.want {
			t.Errorf("expires %d: %d, want %d", c.expires, got, c.want)
		}
	}
}

func TestAPIKeys_Signing(t *testing.T) {
	keys := keysOf(
		"default all a sa 1 0 0 0", "old all b sb 1 5 50 0", "shop read c  2 0 0 0",
		"tokens tokens d sd 3 0 0 0", "tokens tokens e se 3 5 50 0", "gone tokens f sf 4 0 10 0",
	)
	hashes := func(all APIKeys) (s string) {
		for _, k := range all {
			s += k.Hash
		}
		return s
	}
	for _, c := range []struct {
		apiKeyTokens bool
		now          core.Time
		want         string
	}{{true, 9, "fdeab"}, {true, 10, "deab"}, {true, 50, "da"}, {false, 20, "de"}, {false, 50, "d"}} {
		if got := hashes(keys.Signing(c.apiKeyTokens, c.now)); got != c.want {
			t.Errorf("%v at %d: %s, want %s", c.apiKeyTokens, c.now, got, c.want)
		}
	}
	if primary, ok := keys.Primary(20); !ok || primary.Hash != "a" {
		t.Errorf("primary is %+v", primary)
	}
	if _, ok := keysOf("shop read c  2 0 0 0").Primary(1); ok {
		t.Error("a key of the role read is primary")
	}
}
