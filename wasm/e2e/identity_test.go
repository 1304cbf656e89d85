package e2e

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/testenv"
)

// People sign in at an identity provider, in a browser. The provider is a certified one
// from npm.
func TestBrowser_Identity(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	issuer := "http://" + freeAddr(t)
	at, err := url.Parse(issuer)
	require.NoError(t, err)
	provider := exec.Command("node", "provider.mjs", at.Port(), "kith", "secret of kith", s.edge+"/portal/oidc/callback")
	output := &testenv.Log{}
	provider.Dir, provider.Stdout, provider.Stderr, provider.Env = "browser", output, output, append(os.Environ(), "HOME="+t.TempDir())
	require.NoError(t, provider.Start())
	t.Cleanup(func() { _ = provider.Process.Kill(); _ = provider.Wait() })
	s.dev(t, "KITH_OIDC_ISSUER="+issuer, "KITH_OIDC_CLIENT_ID=kith", "KITH_OIDC_CLIENT_SECRET=secret of kith", "KITH_OIDC_NAME=Example ID", "KITH_PORTAL_URL="+s.edge)
	await(t, func() error {
		answer, err := noRedirect.Get(issuer + "/.well-known/openid-configuration")
		if err != nil {
			return fmt.Errorf("%w\n%s", err, output)
		}
		return answer.Body.Close()
	})
	for _, login := range []string{"ann", "mallory"} {
		_, errOut, status := s.run(t, nil, "person", "invite", "demo", login+"@demo.example", "--role", "manager", "--portal-url", s.edge)
		require.Zero(t, status, errOut)
	}
	invitation, errOut, status := s.run(t, nil, "person", "invite", "demo", "carol@demo.example", "--role", "manager", "--portal-url", s.edge)
	require.Zero(t, status, errOut)
	runInBrowser(t, "identity", map[string]any{"portal": s.edge, "invitation": strings.TrimSpace(invitation)}, "joining", "again", "strangers", "foreignCode", "takingBack")
	out, errOut, status := s.run(t, nil, "person", "list", "demo")
	require.Zero(t, status, errOut)
	require.Regexp(t, `ann@demo.example +manager`, out)
	require.Regexp(t, `mallory@demo.example +manager +invited`, out)
}

// The provider need not be up when the service starts; a person then reads what to do.
func TestIdentity_ProviderIsDown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.dev(t, "KITH_OIDC_ISSUER=http://"+freeAddr(t), "KITH_OIDC_CLIENT_ID=kith", "KITH_PORTAL_URL="+s.edge)
	page := mustCall(t, 503, "GET", s.edge+"/portal/oidc", "")
	require.Contains(t, page.body, "The identity provider does not answer; try again, or sign in with your password.")
	for _, wrong := range [][]string{{"KITH_OIDC_ISSUER=http://id.example"}, {"KITH_OIDC_ISSUER=https://id.example"}, {"KITH_OIDC_ISSUER=https://id.example", "KITH_PORTAL_URL=https://p.example"}} {
		_, errOut, status := s.run(t, wrong, "serve")
		require.NotZero(t, status)
		require.Regexp(t, `(oidc-issuer: must be|portal-url: is missing|oidc-client-id: is missing)`, errOut)
	}
}
