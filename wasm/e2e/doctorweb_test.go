package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// front is nginx with TLS in front of an edge, on 127.0.0.1.
type front struct {
	origin string
	// authority is the file of the certificate that signed nginx's.
	authority string
}

// newFront starts nginx in front of a site's edge, with a certificate that is valid for a
// time, and directives that pass requests to the edge.
func (s *site) newFront(t *testing.T, valid time.Duration, directives string) front {
	t.Helper()
	folder, addr := t.TempDir(), freeAddr(t)
	f := front{origin: "https://" + addr, authority: filepath.Join(folder, "authority.pem")}
	f.sign(t, folder, valid)
	config := "daemon off;\npid nginx.pid;\nevents {}\nhttp {\naccess_log off;\n" + temps +
		"server {\nlisten " + addr + " ssl;\nssl_certificate own.pem;\nssl_certificate_key own.key;\nlocation / {\n" +
		strings.ReplaceAll(directives, "EDGE", s.edge) + "\n}\n}\n}\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "nginx.conf"), []byte(config), 0o600))
	(&mall{site: s}).child(t, folder, nil, nginxPath(t), "-e", "stderr", "-p", folder, "-c", "nginx.conf")
	await(t, func() error {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			err = c.Close()
		}
		return err
	})
	return f
}

// passes has what a proxy must set.
const passes = "proxy_pass EDGE;\nproxy_set_header Host $http_host;\nproxy_set_header X-Forwarded-For $remote_addr;\nproxy_set_header X-Forwarded-Proto $scheme;"

// sign writes an authority's certificate, and one of 127.0.0.1 that it signed.
func (f front) sign(t *testing.T, folder string, valid time.Duration) {
	t.Helper()
	write := func(name, kind string, der []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	}
	makeKey := func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		return key
	}
	begin := time.Now().Add(-48 * time.Hour)
	authorityKey, ownKey := makeKey(), makeKey()
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: begin, NotAfter: begin.AddDate(1, 0, 0)}
	own := &x509.Certificate{SerialNumber: big.NewInt(2), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: begin, NotAfter: time.Now().Add(valid)}
	signed, err := x509.CreateCertificate(rand.Reader, authority, authority, &authorityKey.PublicKey, authorityKey)
	require.NoError(t, err)
	write("authority.pem", "CERTIFICATE", signed)
	signed, err = x509.CreateCertificate(rand.Reader, own, authority, &ownKey.PublicKey, authorityKey)
	require.NoError(t, err)
	write("own.pem", "CERTIFICATE", signed)
	private, err := x509.MarshalPKCS8PrivateKey(ownKey)
	require.NoError(t, err)
	write("own.key", "PRIVATE KEY", private)
}

// visited runs kith doctor --visit, which trusts the authority of the front.
func (s *site) visited(t *testing.T, f front) (out string, status int) {
	t.Helper()
	out, errOut, status := s.run(t, []string{"KITH_BACKEND_URL=" + s.backend, "SSL_CERT_FILE=" + f.authority}, "doctor", "--visit")
	return out + errOut, status
}

// A site behind nginx with TLS, on the host of the shop, is healthy. Visits of the doctor
// are not counted.
func TestDoctor_HealthyWeb(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	f := s.newFront(t, 90*24*time.Hour, passes)
	s.createTenant(t, "demo", "--landing-url", f.origin+"/")
	backend, edge := s.serve(t, "KITH_TRUSTED_PROXIES=127.0.0.1"), s.serveEdge(t, "KITH_TRUSTED_PROXIES=127.0.0.1")
	out, status := s.visited(t, f)
	require.Zero(t, status, out)
	for _, line := range []string{
		"ok    TLS          share links are https, with valid certificates", "ok    share links  Kith answers them",
		"ok    cookie       is first-party", "answers, and its master key and clock agree",
	} {
		require.Contains(t, out, line)
	}
	require.NotContains(t, out, "FAIL")
	edge.stop(t)
	backend.stop(t)
	require.Zero(t, number(t, s.open(t), `SELECT count(*) FROM visit_day`))
}

// What is wrong between visitors and Kith is found, each with its remedy.
func TestDoctor_FindsProblemsOfTheWeb(t *testing.T) {
	t.Parallel()
	const month = 30 * 24 * time.Hour
	for name, c := range map[string]struct {
		valid      time.Duration
		directives string
		proxies    string
		// landing returns the origin of the landing page; nil is that of the front.
		landing func(t *testing.T, s *site) string
		change  func(t *testing.T, s *site, f *front)
		says    []string
	}{
		"no TLS": {month, passes, "127.0.0.1", func(t *testing.T, s *site) string {
			s.backend = "http://127.0.0.2:" + port(t, freeAddr(t)) // not a loopback name: visitors could reach it
			return s.backend
		}, nil, []string{"FAIL  TLS", "is not https", "put a reverse proxy with TLS in front of the edge"}},
		"an unknown authority": {month, passes, "127.0.0.1", nil, func(_ *testing.T, _ *site, f *front) {
			f.authority = "/dev/null"
		}, []string{"FAIL  TLS", "certificate signed by unknown authority", "give the proxy a valid certificate for 127.0.0.1"}},
		"an expired certificate": {-time.Hour, passes, "127.0.0.1", nil, nil,
			[]string{"FAIL  TLS", "certificate has expired"}},
		"a certificate that ends": {3*24*time.Hour - time.Minute, passes, "127.0.0.1", nil, nil,
			[]string{"FAIL  TLS", "in 2 days", "renew it now"}},
		"a proxy that is not trusted": {month, passes, "", nil, nil,
			[]string{"FAIL  TLS", "so its cookie is not Secure", "KITH_TRUSTED_PROXIES"}},
		"a proxy that hides https": {month, "proxy_pass EDGE;", "127.0.0.1", nil, nil,
			[]string{"FAIL  TLS", "so its cookie is not Secure", "X-Forwarded-Proto"}},
		"a proxy without Kith": {month, "return 404;", "127.0.0.1", nil, nil,
			[]string{"FAIL  share links", "answers 404, and not as Kith does", "edge/nginx.conf"}},
		"no proxy": {month, passes, "127.0.0.1", func(t *testing.T, _ *site) string { return "https://" + freeAddr(t) }, nil,
			[]string{"FAIL  share links", "connection refused", "start the proxy and the edge"}},
		"a third-party cookie": {month, passes, "127.0.0.1", func(t *testing.T, _ *site) string {
			return startServer(t, "127.0.0.2:0", http.NotFoundHandler())
		}, func(t *testing.T, s *site, f *front) {
			s.ok(t, "tenant", "set", "demo", "--share-origin", f.origin)
		}, []string{"FAIL  cookie", "share links are on 127.0.0.1, the shop is on 127.0.0.2", "kith tenant set demo --share-origin http://127.0.0.2:"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.edge = s.backend // it answers share links as an edge does, and starts faster
			f := s.newFront(t, c.valid, c.directives)
			landing := f.origin
			if c.landing != nil {
				landing = c.landing(t, s)
			}
			s.createTenant(t, "demo", "--landing-url", landing+"/")
			s.serve(t, "KITH_TRUSTED_PROXIES="+c.proxies)
			if c.change != nil {
				c.change(t, s, &f)
			}
			out, status := s.visited(t, f)
			require.Equal(t, 1, status, out)
			for _, text := range c.says {
				require.Contains(t, out, text)
			}
			require.Equal(t, 1, strings.Count(out, "FAIL"), "one cause is one problem:\n%s", out)
		})
	}
}

// startServer serves on an address of this machine, and returns its origin.
func startServer(t *testing.T, addr string, handler http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: deadline}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return fmt.Sprintf("http://%s", l.Addr())
}

// A backend that is away, or has another clock or master key, and files that cannot be
// stored, are found.
func TestDoctor_FindsProblemsOfOtherParts(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	_, err := os.Create(filepath.Join(s.data, "file"))
	require.NoError(t, err)
	other := ownKeySite(t)
	other.serve(t)
	for _, c := range []struct {
		env  string
		says []string
	}{
		{"KITH_BACKEND_URL=http://" + freeAddr(t), []string{"FAIL  backend", "connection refused", "start the backend"}},
		{"KITH_BACKEND_URL=" + other.backend, []string{"FAIL  backend", "refuses the signature", "the same master key"}},
		{"KITH_FILES=" + filepath.Join(s.data, "file"), []string{"FAIL  files", "is not a folder", "correct KITH_FILES"}},
		{"KITH_FILES=" + filepath.Join(s.data, "file", "x"), []string{"FAIL  files", "not a directory", "correct KITH_FILES"}},
		{"KITH_FILES=s3://none?region=x&endpoint=http://" + freeAddr(t), []string{"FAIL  files", "needs credentials"}},
	} {
		out, errOut, status := s.run(t, []string{c.env}, "doctor")
		require.Equal(t, 1, status, out+errOut)
		for _, text := range c.says {
			require.Contains(t, out, text, errOut)
		}
		require.Equal(t, 1, strings.Count(out, "FAIL"), out)
	}
}
