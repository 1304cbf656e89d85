package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program is created from a file, shown, changed and deleted; settings that are not given do
// not change, and what is printed as JSON is what is read.
func TestCLI_Program(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	did := func(args ...string) string {
		t.Helper()
		return s.ok(t, append(args, "--tenant", "demo")...)
	}
	file := filepath.Join(s.data, "spring.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"id":"spring","name":"Spring","sharing":{"url":"https://spring.example/","allowedHosts":["partner.example"]},
		"rewards":{"referrer":{"type":"PCT_DISCOUNT","discountPercent":7.5},"referred":{"type":"FUELTANK","fuelTankType":"PCT_DISCOUNT","amount":10}}}`), 0o600))
	made := did("program", "apply", file)
	require.Contains(t, made, "Spring (spring)\nA referral counts when the friend's account becomes PAID for the first time.\n")
	require.Contains(t, made, "The referrer gets 7.5% off.\n")
	shown := did("program", "show", "spring", "--json")
	require.NoError(t, os.WriteFile(file, []byte(shown), 0o600))
	require.Equal(t, made, did("program", "apply", file))
	unchanged := regexp.MustCompile(`"dateModified": \d+`)
	require.Equal(t, unchanged.ReplaceAllString(shown, ""), unchanged.ReplaceAllString(did("program", "show", "spring", "--json"), ""))

	changed := did("program", "set", "spring", "name=Summer", "sharing.allowedHosts[]=second.example", `invitations.nl={"subject":"Kijk","message":"Bij {shop}"}`)
	require.Contains(t, changed, "Summer (spring)\n")
	require.Contains(t, changed, "or to a page of partner.example or second.example that the link names")
	require.Contains(t, changed, "Users send your own text to friends in nl")
	require.Contains(t, changed, "The referrer gets 7.5% off.\n")
	require.NoError(t, os.WriteFile(file, []byte("GIFT-1\n\n  GIFT-2 \nGIFT-1\n"), 0o600))
	require.Equal(t, "2\n", did("api", "POST", "/programs/spring/rewards/referred/codes", "codes[]=@"+file, "--value", "available"))
	require.Contains(t, did("program", "show", "spring"), "The fuel tank of the referred has 2 codes available; 0 were given, and 0 rewards wait for one.\n")
	require.Regexp(t, `(?m)^spring +Summer +https://spring\.example/ +The referrer gets 7\.5% off and the friend gets a coupon code for 10% off`, did("program", "list"))
	require.Empty(t, did("api", "DELETE", "/programs/spring"))
	require.NotContains(t, did("program", "list"), "spring")
}

// An operator's list of disposable domains is used in addition to the built-in one.
func TestCLI_TempDomains(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	list := filepath.Join(s.data, "domains.txt")
	require.NoError(t, os.WriteFile(list, []byte("# ours\nThrowAway.example # since May\n\n"), 0o600))
	_, errOut, status := s.run(t, []string{"KITH_TEMP_DOMAINS=" + list + ".none"}, "serve")
	require.Equal(t, 2, status)
	require.Contains(t, errOut, "domains.txt.none")
	p := s.start(t, s.backend+"/healthz", []string{"KITH_TEMP_DOMAINS=" + list}, "serve", "--backend-addr", strings.TrimPrefix(s.backend, "http://"))
	s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
	s.identify(t, s.backend, "demo", "ben", `{"referredByCodes":["ANNA10"],"email":"ben@mail.throwaway.example"}`)
	s.identify(t, s.backend, "demo", "cleo", `{"referredByCodes":["ANNA10"],"email":"cleo@example.com"}`)
	for user, want := range map[string]string{"ben": `"fraudSignals":{"tempEmail":`, "cleo": `"fraudSignals":null`} {
		a := mustCall(t, http.StatusOK, "GET", s.backend+"/api/v1/demo/referrals?referredAccountId="+user, "", s.auth("demo"))
		require.Contains(t, a.body, want, user)
	}
	p.stop(t)
	require.Contains(t, p.log(t), "temp_domains="+list)
}
