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

// A program is created, shown, changed and deleted; settings that are not given do not change.
func TestCLI_Program(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	did := func(args ...string) string {
		t.Helper()
		out, errOut, status := s.run(t, nil, append([]string{"program"}, append(args, "--tenant", "demo")...)...)
		require.Zero(t, status, errOut)
		require.Empty(t, errOut)
		return regexp.MustCompile(`2\d{3}-\d\d-\d\dT[0-9:]{8}Z`).ReplaceAllString(out, "DATE")
	}
	did("create", "spring", "--landing-url", "https://spring.example/", "--name", "Spring", "--referrer-reward", "7.5%", "--referred-reward", "10 EUR", "--referrer-expiry-days", "90",
		"--allow-host", "partner.example", "--cookie-life", "36h", "--max-rewards-in-period", "3", "--period", "24h", "--max-discount", "50%",
		"--fraud", "pending", "--fraud-signal", "ip=deny", "--fraud-signal", "name=none", "--daily-rewards", "5")
	want := `key                       spring
name                      Spring
landing page              https://spring.example/
further hosts             partner.example
cookie life               36h
utm source                the medium of the link
utm campaign              Spring
referrer earns            7.5% for 90 days
referred earns            10.00 EUR
money-back window         30 days
most rewards              no limit
most rewards in a period  3 in 1 day
most discount             50%
fraud                     pending, name none, ip deny
daily rewards             5
made                      DATE
changed                   DATE
`
	require.Equal(t, want, did("show", "spring"))
	require.Equal(t, want, did("update", "spring"), "no setting is given")
	want = strings.NewReplacer("name                      Spring", "name                      Summer", "utm campaign              Spring", "utm campaign              Summer", ", name none, ip deny", ", name none", "7.5% for 90 days", "none",
		"3 in 1 day", "no limit", "partner.example", "none", "30 days", "none").Replace(want)
	require.Equal(t, want, did("update", "spring", "--name", "Summer", "--money-back", "0s", "--fraud-signal", "ip=default", "--referrer-reward", "none", "--max-rewards-in-period", "0", "--allow-host", "none"))
	for _, reward := range [][2]string{
		{"2 months", "2 months"}, {"FUELTANK 10%", "FUELTANK 10%"}, {"INTEGRATION 25 USD", "INTEGRATION 25.00 USD"}, {"500 POINT", "500 POINT"}, {"none", "none"},
	} {
		require.Contains(t, did("update", "spring", "--referrer-reward", reward[0]), "referrer earns            "+reward[1]+"\n")
	}
	invited := did("update", "spring", "--invitation-subject", "de=Spar {reward}; jetzt", "--invitation-message", "de=Schau mal, bei {shop}", "--invitation-subject", "nl=Kijk", "--invitation-message", "nl=Bij {shop}")
	require.Contains(t, invited, "invitation in de          Spar {reward}; jetzt | Schau mal, bei {shop}\n")
	require.Contains(t, invited, "invitation in nl          Kijk | Bij {shop}\n")
	require.Contains(t, did("update", "spring", "--invitation-subject", "de=Neu"), "invitation in de          Neu | Schau mal, bei {shop}\n")
	require.NotContains(t, did("update", "spring", "--default-invitation", "de", "--default-invitation", "nl"), "invitation in")
	for args, says := range map[string]string{
		"--money-back 8761h":              "money-back: must be 0 to 365 days; 0 is never, and left out, it stays as it is",
		"--invitation-subject fr=Regarde": "invitation-message: fr must not be empty",
		"--invitation-subject french=x":   "invitation-subject: must be a locale such as en or pt-BR",
		"--default-invitation ?":          "default-invitation: must be a locale such as en or pt-BR",
		"--invitation-message nl={name}":  "invitation-subject: nl must not be empty",
	} {
		_, errOut, status := s.run(t, nil, append(strings.Fields("program update spring --tenant demo"), strings.Fields(args)...)...)
		require.Equal(t, 1, status, args)
		require.Contains(t, errOut, says, args)
	}
	codes := filepath.Join(s.data, "codes.txt")
	require.NoError(t, os.WriteFile(codes, []byte("GIFT-1\n\n  GIFT-2 \nGIFT-1\n"), 0o600))
	did("update", "spring", "--referred-reward", "FUELTANK 10%")
	require.Equal(t, "2 codes available, 0 given, 0 rewards due\n", did("fill", "spring", "referred", "--file", codes))
	require.Contains(t, did("show", "spring"), "fuel tank of referred     2 codes available, 0 given, 0 rewards due\n")
	did("update", "spring", "--referred-reward", "10 EUR")
	require.Equal(t, `key      name            referrer earns  referred earns  landing page
classic  Refer a friend  10.00 USD       10%             https://shop.example/
spring   Summer          none            10.00 EUR       https://spring.example/
`, did("list"))
	require.Equal(t, "program spring of tenant demo is deleted\n", did("delete", "spring"))
	require.NotContains(t, did("list"), "spring")
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
