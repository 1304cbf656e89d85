package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/testenv"
)

// guide is docs/integrate.md.
const guide = "docs/integrate.md"

// nginxPath is where the server is: toolchain/setup.sh unpacks it where it is not
// installed.
func nginxPath(t testing.TB) string {
	t.Helper()
	for _, path := range []string{filepath.Join(root, "bin/debian/usr/sbin/nginx"), "nginx", "/usr/sbin/nginx"} {
		if found, err := exec.LookPath(path); err == nil {
			found, err = filepath.Abs(found)
			require.NoError(t, err)
			return found
		}
	}
	t.Fatal("nginx is missing: run make test, which calls wasm/toolchain/setup.sh test")
	return ""
}

// blockWith is the one block of a document with this language and text.
func blockWith(t testing.TB, d *document, language, text string) string {
	t.Helper()
	var found []string
	for _, b := range d.blocks {
		if b.language == language && strings.Contains(b.text(d), text) {
			found = append(found, b.text(d))
		}
	}
	require.Len(t, found, 1, "%s: %s blocks with %q", d.path, language, text)
	return found[0]
}

// The guide shows the files that a reader copies byte for byte, and parts of the page and
// of an example.
func TestIntegrate_ShowsTheFiles(t *testing.T) {
	t.Parallel()
	d := readDocument(t, guide)
	shown := map[string]string{}
	for _, b := range d.blocks {
		if b.file != "" {
			shown[b.file] = b.text(d)
		}
	}
	want := map[string]string{}
	for file, path := range map[string]string{
		"shop/kith.conf": "edge/nginx.conf", "shop/nginx.conf": "docs/example/nginx.conf",
		"shop/server.mjs": "docs/example/server.mjs", "shop/token.mjs": "docs/example/token.mjs",
	} {
		text, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		want[file] = string(text)
	}
	require.Equal(t, want, shown)
	for path, part := range map[string]string{
		"docs/example/index.html": blockWith(t, d, "html", "autofill"), "examples/plain/kith.mjs": blockWith(t, d, "js", "reportOrder"),
	} {
		text, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		require.Contains(t, string(text), part)
	}
}

// newShop starts kith dev, the shop of docs/example, and nginx in front of both with
// a configuration whose ports are replaced by free ones. Listen is what the
// configuration listens on. The shop is the tenant shop.
func newShop(t *testing.T, scheme, config, listen string) (m *mall, kith *process) {
	t.Helper()
	m = &mall{site: newSite(t), tokens: map[string]string{}, snippets: map[string]string{}}
	kith = m.dev(t, "KITH_TRUSTED_PROXIES=127.0.0.1")
	folder, front, shop := t.TempDir(), freeAddr(t), freeAddr(t)
	m.shop = named("shop.example", scheme+"://"+front)
	m.kith = m.shop
	m.createTenant(t, "shop", "--landing-url", m.shop+"/")
	m.ok(t, "tenant", "set", "shop", "--share-origin", m.shop)

	require.NoError(t, os.CopyFS(folder, os.DirFS(filepath.Join(root, "docs/example"))))
	snippet, err := os.ReadFile(filepath.Join(root, "edge/nginx.conf"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kith.conf"), snippet, 0o600))
	for _, replaced := range [][2]string{
		{listen, "listen " + front}, {"127.0.0.1:3000", strings.TrimPrefix(m.edge, "http://")}, {"127.0.0.1:4000", shop},
	} {
		require.Equal(t, 1, strings.Count(config, replaced[0]), replaced[0])
		config = strings.Replace(config, replaced[0], replaced[1], 1)
	}
	config = strings.NewReplacer("/etc/nginx/", folder+"/", "/etc/ssl/", folder+"/").Replace(config)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "nginx.conf"), []byte(config), 0o600))
	if scheme == "https" {
		certificate(t, filepath.Join(folder, "shop.example"))
	}

	nginx := []string{nginxPath(t), "-e", "stderr", "-p", folder, "-c", "nginx.conf"}
	out, err := exec.Command(nginx[0], append(nginx[1:], "-t")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	m.child(t, folder, nil, nginx...)
	key := m.tokenKey(t)
	_, port, err := net.SplitHostPort(shop)
	require.NoError(t, err)
	m.child(t, folder, []string{"TENANT=shop", "API_KEY=" + m.keys["shop"], "KITH=" + m.edge, "PORT=" + port}, "node", "server.mjs")
	for _, id := range []string{"dora", "carl"} {
		sign := exec.Command("node", "token.mjs", id, id)
		sign.Dir, sign.Env = folder, append(os.Environ(), "TOKEN_KEY="+key)
		token, err := sign.Output()
		require.NoError(t, err)
		m.tokens[id+" "+id] = strings.TrimSpace(string(token))
	}

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	await(t, func() error {
		response, err := client.Get(scheme + "://" + front)
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("the shop answers %s", response.Status)
		}
		return nil
	})
	return m, kith
}

// child starts a program in a folder, and stops it at the end of the test.
func (m *mall) child(t *testing.T, folder string, env []string, command ...string) {
	t.Helper()
	p := &process{output: &testenv.Log{}, command: exec.Command(command[0], command[1:]...)}
	p.command.Dir, p.command.Env = folder, append(os.Environ(), env...)
	p.command.Stdout, p.command.Stderr = p.output, p.output
	require.NoError(t, p.command.Start())
	t.Cleanup(func() {
		// SIGINT ends nginx with its workers; SIGKILL would leave them.
		_ = p.command.Process.Signal(os.Interrupt)
		_ = p.command.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", filepath.Base(command[0]), p.output)
		}
	})
}

// tokenKey is the secret of a new key that signs user tokens of the shop.
func (m *mall) tokenKey(t *testing.T) string {
	t.Helper()
	words := strings.Fields(m.ok(t, "key", "create", "shop", "--name", "pages", "--role", "tokens"))
	return words[len(words)-1]
}

// certificate writes a certificate for shop.example, signed by itself, and its key:
// path.pem and path.key.
func certificate(t *testing.T, path string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"shop.example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for suffix, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: signed}, ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		require.NoError(t, os.WriteFile(path+suffix, pem.EncodeToMemory(block), fs.FileMode(0o600)))
	}
}

// A shop of the example behind the example's nginx: from the share link to the
// converted referral, in a browser and on one host. When Kith is down, the shop's
// pages are still answered.
func TestIntegrate_Shop(t *testing.T) {
	t.Parallel()
	config, err := os.ReadFile(filepath.Join(root, "docs/example/nginx.conf"))
	require.NoError(t, err)
	m, kith := newShop(t, "http", string(config), "listen 127.0.0.1:8000")
	// The X-Forwarded-Host of a client does not reach Kith.
	page := mustCall(t, http.StatusFound, "GET", named("127.0.0.1", m.shop)+"/?rsCode=X", "", "Host: "+strings.TrimPrefix(m.shop, "http://"), "X-Forwarded-Host: evil.example")
	require.Equal(t, "/", page.header.Get("Location"))
	m.readSnippets(t)
	m.play(t, "integrate", "converted", "ownCall", "refused", "sdk", "pageWithCode", "shopPaths")
	kith.stop(t)
	m.play(t, "integrate", "withoutKith")
}

// The same with the server block that the guide shows for a live shop, with TLS.
func TestIntegrate_ShopWithTLS(t *testing.T) {
	t.Parallel()
	server := blockWith(t, readDocument(t, guide), "nginx", "listen 443 ssl")
	m, _ := newShop(t, "https", "daemon off;\npid nginx.pid;\nevents {}\nhttp {\naccess_log off;\n"+temps+server+"}\n", "listen 443")
	m.readSnippets(t)
	m.play(t, "integrate", "converted", "ownCall", "refused", "pageWithCode")
}

// temps are settings of nginx by which it needs no root.
const temps = "client_body_temp_path temp; proxy_temp_path temp; fastcgi_temp_path temp; uwsgi_temp_path temp; scgi_temp_path temp;\n"

// readSnippets takes the scripts that the guide shows for a user with a token.
func (m *mall) readSnippets(t *testing.T) {
	t.Helper()
	d := readDocument(t, guide)
	for name, text := range map[string]string{"sdk": "squatch.init", "init": "account_id: 'dora'"} {
		m.snippets[name] = strings.ReplaceAll(blockWith(t, d, "js", text), "test_shop", "shop")
	}
}
