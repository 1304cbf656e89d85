package people

import (
	"net/url"
	"strings"
	"testing"

	"kith/core"
)

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestKeyHolder(t *testing.T) {
	key := KeyHolder("demo", "checkout", "192.0.2.1")
	if key.Email != "API key checkout" || key.Person != "" || KeyHolder("demo", "", "").Email != "API key" {
		t.Errorf("%+v", key)
	}
	for _, role := range Roles() {
		if err := (Caller{Role: Owner}).CheckRole("role", role); err != nil {
			t.Errorf("an owner, %s: %v", role, err)
		}
		if err := key.CheckRole("role", role); (err != nil) != (role == Owner) {
			t.Errorf("a key, %s: %v", role, err)
		}
	}
}

func TestParseAuditFormat(t *testing.T) {
	for s, want := range map[string]AuditFormat{"": AuditCSV, "csv": AuditCSV, "json": AuditJSON} {
		if got, err := ParseAuditFormat("format", s); got != want || err != nil {
			t.Errorf("%q: %s, %v", s, got, err)
		}
	}
	if _, err := ParseAuditFormat("format", "xml"); message(err) != "format: must be csv or json" {
		t.Error(err)
	}
}

func TestRoles_ParseAndDescribe(t *testing.T) {
	for _, role := range Roles() {
		if got, err := ParseRole("role", string(role)); got != role || err != nil || role.Describe() == "" {
			t.Errorf("%s: %s, %v", role, got, err)
		}
	}
	if _, err := ParseRole("role", "Owner"); message(err) != "role: must be one of owner, manager, support, viewer" {
		t.Error(err)
	}
}

func TestHome(t *testing.T) {
	for tenant, want := range map[core.TenantAlias]core.TenantAlias{"demo": "demo", "test_demo": "demo", "test_": "", "testdemo": "testdemo"} {
		if got := Home(tenant); got != want {
			t.Errorf("%s: %s", tenant, got)
		}
	}
}

func TestParseEmail(t *testing.T) {
	for in, want := range map[string]string{
		"Ann@Example.COM": "ann@example.com", " a@b ": "a@b", "a+b@x.example": "a+b@x.example", "ä@ü.example": "ä@ü.example",
		"mi\u212ae@demo.example": "mi\u212ae@demo.example", "\u0130RINA@demo.example": "\u0130rina@demo.example",
		"": "", "a": "", "@b": "", "a@": "", "a@b@c": "", "a b@c": "", "a@b\n": "a@b", "a\x00@b": "", "<a@b>": "", "a@b,c@d": "",
		"\xff@b": "", strings.Repeat("a", 253) + "@b": "",
	} {
		got, err := ParseEmail("email", in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func TestParseName(t *testing.T) {
	for in, ok := range map[string]bool{"": true, " Ann Ähre ": true, "a\nb": false, "a\x7f": false, "\xff": false, strings.Repeat("a", 201): false} {
		if got, err := ParseName("name", in); (err == nil) != ok || ok && got != strings.TrimSpace(in) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func TestParseReason(t *testing.T) {
	for in, want := range map[string]string{
		" asked by phone ": "", "läuft": "", strings.Repeat("a", 500): "",
		"":                       "reason: is required; write in a few words why you do this",
		" \t\n":                  "reason: is required; write in a few words why you do this",
		strings.Repeat("a", 501): "reason: must not be longer than 500 bytes; shorten it",
		"a\nb":                   "reason: must be one line of text; remove line breaks",
		"\xff":                   "reason: must be one line of text; remove line breaks",
		"a\x7f":                  "reason: must be one line of text; remove line breaks",
	} {
		got, err := ParseReason("reason", in)
		if message(err) != want || err == nil && got != strings.TrimSpace(in) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func TestCheckPassword(t *testing.T) {
	const email = "christine@example.com"
	for password, want := range map[string]string{
		"correct horse battery":      "",
		"läuft nur mit ümläuten":     "",
		"christine likes long words": "",
		"wxqz        k":              "password: must have at least 12 characters; a few words together are easy to remember",
		"elevenchars":                "password: must have at least 12 characters; a few words together are easy to remember",
		"äöüäöüäöüäö":                "password: must have at least 12 characters; a few words together are easy to remember",
		strings.Repeat("abcdé", 90):  "password: must have at most 512 bytes; shorten it",
		"aaaabbbbccccdddd":           "password: repeats the same few characters; use more different ones",
		"Christine@Example.com":      "password: is your mail address; choose something else",
		"my christine@example.com!":  "password: is your mail address; choose something else",
		"christine-christine":        "password: is your mail address; choose something else",
		"password1234":               "password: is among the passwords that attackers try first; choose something else",
		"Qwertyuiop123!":             "password: is among the passwords that attackers try first; choose something else",
		"1q2w3e4r5t6y":               "password: is among the passwords that attackers try first; choose something else",
		"P@ssw0rd1234":               "password: is among the passwords that attackers try first; choose something else",
		"Winter2025!!":               "password: is among the passwords that attackers try first; choose something else",
		"7ujm6yhn5tgb":               "password: is among the passwords that attackers try first; choose something else",
		"Frühling-2026":              "password: is among the passwords that attackers try first; choose something else",
		"Unbelievable":               "password: is among the passwords that attackers try first; choose something else",
		"winter is not here":         "",
		"1q2w3e4r and more":          "",
		"1234567890!?":               "password: is among the passwords that attackers try first; choose something else",
		"\xff\xff correct horse":     "password: is not valid text; type it again",
	} {
		if got := message(CheckPassword("password", password, email)); got != want {
			t.Errorf("%q: %q", password, got)
		}
	}
}

func TestSession_Valid(t *testing.T) {
	const made = core.Time(1_700_000_000_000)
	limits := DefaultSessionLimits()
	for _, c := range []struct {
		name  string
		s     Session
		at    core.Time
		valid bool
	}{
		{"at once", Session{Stage: SignedIn, Created: made, Seen: made}, made, true},
		{"the last moment of idling", Session{Stage: SignedIn, Created: made, Seen: made}, made + limits.Idle - 1, true},
		{"idle", Session{Stage: SignedIn, Created: made, Seen: made}, made + limits.Idle, false},
		{"in use until its end", Session{Stage: SignedIn, Created: made, Seen: made + limits.Life - 1}, made + limits.Life - 1, true},
		{"in use beyond its end", Session{Stage: SignedIn, Created: made, Seen: made + limits.Life - 1}, made + limits.Life, false},
		{"waits for a code", Session{Stage: SecondFactor, Created: made, Seen: made}, made + SecondFactorLife - 1, true},
		{"waited too long for a code", Session{Stage: SecondFactor, Created: made, Seen: made + SecondFactorLife}, made + SecondFactorLife, false},
	} {
		if limits.Valid(c.s, c.at) != c.valid {
			t.Errorf("%s: %v", c.name, !c.valid)
		}
	}
	s := Session{Seen: made, Confirmed: made}
	if step := limits.Idle / 6; limits.Stale(s, made+step-1) || !limits.Stale(s, made+step) {
		t.Error("stale")
	}
	if !s.IsConfirmed(made+ConfirmLife-1) || s.IsConfirmed(made+ConfirmLife) {
		t.Error("confirmed")
	}
}

// rfcSecret is the secret of the test vectors.
func rfcSecret() (secret TOTP) {
	copy(secret[:], "12345678901234567890")
	return secret
}

// The test vectors of RFC 4226, appendix D, and RFC 6238, appendix B, of whose 8 digits
// the last 6 are compared.
func TestTOTP_Vectors(t *testing.T) {
	for counter, want := range []string{"755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489"} {
		if got := rfcSecret().Code(int64(counter)); got != want {
			t.Errorf("counter %d: %s", counter, got)
		}
	}
	for at, want := range map[core.Time]string{
		59: "94287082", 1111111109: "07081804", 1111111111: "14050471", 1234567890: "89005924", 2000000000: "69279037", 20000000000: "65353130",
	} {
		if _, ok := rfcSecret().Verify(want[2:], at*core.Second, 0); !ok {
			t.Errorf("time %d: refused", at)
		}
	}
}

func TestTOTP_Verify(t *testing.T) {
	const now, step = 1_700_000_000 * core.Second, int64(1_700_000_000 / 30)
	secret := rfcSecret()
	for _, c := range []struct {
		name, code string
		last, want int64
	}{
		{"current", secret.Code(step), 0, step},
		{"previous", secret.Code(step - 1), 0, step - 1},
		{"next", secret.Code(step + 1), 0, step + 1},
		{"with a space", secret.Code(step)[:3] + " " + secret.Code(step)[3:], 0, step},
		{"too old", secret.Code(step - 2), 0, 0},
		{"too new", secret.Code(step + 2), 0, 0},
		{"used", secret.Code(step), step, 0},
		{"before one that was used", secret.Code(step - 1), step, 0},
		{"after one that was used", secret.Code(step + 1), step, step + 1},
		{"empty", "", 0, 0},
		{"longer", secret.Code(step) + "0", 0, 0},
	} {
		got, ok := secret.Verify(c.code, now, c.last)
		if got != c.want || ok != (c.want != 0) {
			t.Errorf("%s: %d, %v", c.name, got, ok)
		}
	}
}

func TestTOTP_Text(t *testing.T) {
	if got := rfcSecret().String(); got != "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" {
		t.Error(got)
	}
	if got, ok := ParseTOTP(rfcSecret().String()); got != rfcSecret() || !ok {
		t.Error(got, ok)
	}
	for _, wrong := range []string{"", "GEZDGNBV", "1", rfcSecret().String() + "GEZDGNBV"} {
		if _, ok := ParseTOTP(wrong); ok {
			t.Errorf("%q is parsed", wrong)
		}
	}
	parsed, err := url.Parse(rfcSecret().URI("Kith portal", "a+b@x.example"))
	if err != nil || parsed.Path != "/Kith portal:a+b@x.example" || parsed.Query().Get("secret") != rfcSecret().String() || parsed.Query().Get("issuer") != "Kith portal" {
		t.Error(parsed, err)
	}
}

func TestRecoveryCode(t *testing.T) {
	var entropy [RecoverySize]byte
	for i := range entropy {
		entropy[i] = byte(i * 37)
	}
	code := RecoveryCode(entropy)
	if len(code) != 19 || code[4] != '-' || code[9] != '-' || code[14] != '-' {
		t.Error(code)
	}
	plain := strings.ReplaceAll(code, "-", "")
	for in, want := range map[string]string{
		code: plain, strings.ToLower(code): plain, " " + strings.ReplaceAll(code, "-", " "): plain,
		"": "", code[1:]: "", "0" + code[1:]: "", code + "2": "", "123456": "",
	} {
		if got := PlainRecoveryCode(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestAuditFilter_Check(t *testing.T) {
	for _, c := range []struct {
		f    AuditFilter
		want string
	}{
		{AuditFilter{}, ""},
		{AuditFilter{Actor: "ann", Action: "member.invited", Span: core.Span{From: 1, Before: 2}, Before: 7}, ""},
		{AuditFilter{Action: "fly.away"}, "action: is not an action of the audit log; give one such as member.invited"},
		{AuditFilter{Span: core.Span{From: 2, Before: 2}}, "to: must not be before the first day; exchange the two days"},
		{AuditFilter{Subject: strings.Repeat("a", 255)}, "subject: must be at most 254 bytes; shorten it"},
		{AuditFilter{Actor: strings.Repeat("a", 255)}, "actor: must be at most 254 bytes; shorten it"},
	} {
		if got := message(c.f.Check([]Action{"member.invited"})); got != c.want {
			t.Errorf("%+v: %q", c.f, got)
		}
	}
}
