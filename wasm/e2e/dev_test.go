package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/testenv"
)

// After `make run`, a share link leads to a converted referral with a reward, and all data
// is still there after a restart.
func TestDev_ShareLinkBecomesReward(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	node := s.dev(t)
	printed := node.waitOutput(t, regexp.MustCompile(`Shop +(\S+)\n +Portal +(\S+), sign in as (\S+)\n +Password +\S+\n +API +(\S+), tenant demo, key (\S+)\n`))
	require.Equal(t, []string{s.edge, s.edge + "/portal", ownerEmail, s.edge + "/docs", s.keys["demo"]}, printed[1:])
	developers := mustCall(t, http.StatusOK, "GET", s.edge+"/developers", "").body
	for _, word := range []string{s.edge, s.backend, s.keys["demo"], s.keys["test_demo"], s.edge + "/s/demo/ANNA-COFFEE"} {
		require.Contains(t, developers, word)
	}

	a := mustCall(t, http.StatusFound, "GET", s.edge+"/s/demo/ANNA10?rsShareMedium=FACEBOOK", "")
	cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
	require.Contains(t, a.header.Get("Location"), s.edge+"/shop?rsCode=ANNA10&rsShareMedium=FACEBOOK&")
	// The URL of the landing page contains the code; the edge removes it.
	a = mustCall(t, http.StatusFound, "GET", a.header.Get("Location"), "", "Cookie: "+cookie)
	cookie, _, _ = strings.Cut(a.header.Get("Set-Cookie"), ";")
	page := mustCall(t, http.StatusOK, "GET", s.edge+a.header.Get("Location"), "", "Cookie: "+cookie)
	require.Contains(t, page.body, "This browser followed a share link")
	require.Contains(t, page.body, "A friend sent you by Facebook")

	token := "Authorization: Bearer " + s.token(t, "ben")
	mustCall(t, http.StatusOK, "PUT", s.edge+"/api/v1/demo/open/account/ben/user/ben", `{"firstName":"Ben"}`, token, "Cookie: "+cookie)
	mustCall(t, http.StatusOK, "POST", s.edge+"/api/v1/demo/accountsync", `{"id":"ben","subscription":{"status":"PAID"}}`, s.auth("demo"))
	const purchase = `{"idempotencyKey":"order-1001","events":[{"key":"purchase","fields":{"revenue":12.5}}]}`
	a, err := s.sendEvents(s.edge, "demo", "ben", purchase)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, a.status, a.body)
	node.stop(t)
	require.NotContains(t, node.log(t), "still in progress", "no request was made to a lab")

	s.dev(t)
	a, err = s.sendEvents(s.edge, "demo", "ben", purchase)
	require.NoError(t, err)
	require.Equal(t, http.StatusConflict, a.status, a.body)
	found := decode[struct {
		Referrals []struct {
			State, ShareMedium string
			ReferrerReward     struct{ AssignedCredit int }
			ReferredReward     struct{ DiscountPercent int }
		}
	}](t, mustCall(t, http.StatusOK, "GET", s.edge+"/api/v1/demo/referrals?referredAccountId=ben", "", s.auth("demo"))).Referrals
	require.Len(t, found, 1)
	require.Equal(t, "converted", found[0].State)
	require.Equal(t, "FACEBOOK", found[0].ShareMedium)
	require.Equal(t, 1000, found[0].ReferrerReward.AssignedCredit)
	require.Equal(t, 10, found[0].ReferredReward.DiscountPercent)
	db := s.open(t)
	waitProcessed(t, db)
	require.Equal(t, []string{"purchase"}, texts(t, db, `SELECT key FROM event`))
}

// The binary needs no other file: in a folder of its own, with an empty environment, it
// runs the component, stores its data in ./data and writes nothing else. A spin.toml in
// the folder is not read.
func TestDev_BinaryAlone(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	code, err := os.ReadFile(filepath.Join(root, "bin", "kith"))
	require.NoError(t, err, "run make build")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kith"), code, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "spin.toml"), []byte("not a manifest"), 0o600))
	edge := freeAddr(t)
	p := &process{output: &testenv.Log{}, command: exec.Command("./kith", "dev",
		"--edge-addr", edge, "--backend-addr", freeAddr(t), "--lab-addr", freeAddr(t), "--stripe-lab-addr", freeAddr(t), "--sftp-addr", freeAddr(t))}
	p.command.Dir, p.command.Env = folder, []string{"KITH_LOG_LEVEL=DEBUG"}
	p.command.Stdout, p.command.Stderr = p.output, p.output
	require.NoError(t, p.command.Start())
	t.Cleanup(p.kill)
	await(t, func() error {
		a, err := call("GET", "http://"+edge+"/s/demo/ANNA10", "")
		if err != nil || a.status != http.StatusFound {
			return fmt.Errorf("the share link answers %d %s, %v\n%s", a.status, a.body, err, p.output)
		}
		return nil
	})
	p.stop(t)
	require.Contains(t, p.log(t), " manifest=embedded ")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	require.Equal(t, []string{"data", "kith", "spin.toml"}, names)
}

// A configured manifest and its module replace the embedded ones.
func TestEdge_ManifestOnDisk(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	folder := t.TempDir()
	manifest := filepath.Join(folder, "spin.toml")
	text, err := os.ReadFile(filepath.Join(root, "spin.toml"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(manifest, text, 0o600))
	_, errOut, status := s.run(t, []string{"KITH_MANIFEST=" + manifest}, "edge")
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "kith: manifest: host: component: open "+filepath.Join(folder, "bin", "edge.wasm")+": no such file")

	module, err := os.ReadFile(filepath.Join(root, "bin", "edge.wasm"))
	require.NoError(t, err, "run make edge")
	require.NoError(t, os.Mkdir(filepath.Join(folder, "bin"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "bin", "edge.wasm"), module, 0o600))
	s.serve(t)
	edge := s.serveEdge(t, "KITH_MANIFEST="+manifest)
	edge.waitLog(t, " manifest="+manifest+" ")
}
