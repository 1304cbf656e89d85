package e2e

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kith/wasm/e2e/attack"
)

// Every attack of the tables is repelled, at the edge and at the backend.
func TestAttacks(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.createTenant(t, "other", "--landing-url", "https://shop.example/")
	s.serve(t, "KITH_RATE_LIMIT=0")
	s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10","email":"anna@shop.example"}`)
	s.identify(t, s.backend, "demo", "ben", `{"email":"ben@shop.example"}`)
	s.serveEdge(t, "KITH_RATE_LIMIT=0")
	target := attack.Target{Key: s.keys["demo"], OtherKey: s.keys["other"]}
	for kind, rows := range target.Tables() {
		for _, row := range rows {
			for server, base := range map[string]string{"edge": s.edge, "backend": s.backend} {
				row := row
				if server == "backend" && row.AtBackend != 0 {
					row.Status = row.AtBackend
				}
				t.Run(kind+"/"+row.Attack+"/"+server, func(t *testing.T) { repelled(t, base, row) })
			}
		}
	}
	// The service still works.
	for _, base := range []string{s.edge, s.backend} {
		mustCall(t, http.StatusFound, "GET", base+"/s/demo/ANNA10", "")
		mustCall(t, http.StatusOK, "GET", base+"/api/v1/demo/code/ANNA10", "", s.auth("demo"))
	}
}

// repelled sends one attack and checks the whole answer.
func repelled(t *testing.T, base string, row attack.Row) {
	c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, request(row))
	require.NoError(t, err)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(deadline)))
	if row.Verbatim {
		// The server may wait for more data: the answer within half a second counts.
		require.NoError(t, c.SetReadDeadline(time.Now().Add(500*time.Millisecond)))
	}
	text, _ := io.ReadAll(c)
	answer, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(text))), nil)
	require.NoError(t, err, "%q", text)
	assert.Equal(t, row.Status, answer.StatusCode, "%s", text)
	assert.Equal(t, 1, strings.Count(string(text), "HTTP/1."), "%s", text)
	assert.Contains(t, string(text), row.Says)
	assert.Empty(t, answer.Header.Values("Server"))
	if !row.Verbatim { // net/http answers a malformed request itself
		assert.Equal(t, []string{"nosniff"}, answer.Header.Values("X-Content-Type-Options"), "%s", text)
		if body, _ := io.ReadAll(answer.Body); len(body) > 0 {
			assert.NotEmpty(t, answer.Header.Get("Content-Type"), "%s", text)
		}
	}
	if row.Never != "" {
		assert.NotContains(t, string(text), row.Never)
	}
}

// request returns the bytes of a row's request.
func request(row attack.Row) string {
	if row.Verbatim {
		return row.Request
	}
	head, body, _ := strings.Cut(row.Request, "\n\n")
	line, headers, _ := strings.Cut(head, "\n")
	if !strings.Contains(head, "\nHost: ") {
		headers += "\nHost: kith.test"
	}
	if body != "" {
		headers += fmt.Sprintf("\nContent-Length: %d", len(body))
	}
	lines := line + " HTTP/1.1\n" + strings.TrimPrefix(headers, "\n") + "\nConnection: close\n\n"
	return strings.ReplaceAll(lines, "\n", "\r\n") + body
}

// At the hosts that the operator has named with https, browsers are bound to https. A shop's
// host is not.
func TestAttack_DowngradeToHTTP(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t, "KITH_PORTAL_URL=https://portal.example", "KITH_PUBLIC_URL=https://go.example", "KITH_TRUSTED_PROXIES=127.0.0.0/8")
	for host, want := range map[string]string{"portal.example": "max-age=31536000", "GO.example": "max-age=31536000", "shop.example": ""} {
		for _, path := range []string{"/portal/signin", "/s/demo/ANNA10", "/none"} {
			a, err := call("GET", s.backend+path, "", "X-Forwarded-Proto: https", "X-Forwarded-Host: "+host)
			require.NoError(t, err)
			require.Equal(t, want, a.header.Get("Strict-Transport-Security"), host+path)
			a, err = call("GET", s.backend+path, "", "X-Forwarded-Host: "+host)
			require.NoError(t, err)
			require.Empty(t, a.header.Get("Strict-Transport-Security"), "over http")
		}
	}
}

var declared = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

// The tests in attack.Elsewhere exist. The list names every TestAttack_ function of this
// folder and, together with the tables, every hole of the issue.
func TestAttacks_Elsewhere(t *testing.T) {
	t.Parallel()
	tests, listed, titles := declaredTests(t), map[string]bool{}, ""
	for _, shown := range attack.Elsewhere {
		require.NotEmpty(t, shown.Tests, shown.Attack)
		titles += shown.Attack + "\n"
		for _, name := range shown.Tests {
			assert.Contains(t, tests, name, shown.Attack)
			listed[name] = true
		}
	}
	for name := range tests {
		if strings.HasPrefix(name, "wasm/e2e.TestAttack_") {
			assert.Contains(t, listed, name)
		}
	}
	for _, rows := range (attack.Target{}).Tables() {
		for _, row := range rows {
			titles += row.Attack + "\n"
		}
	}
	for hole := 1; hole <= 15; hole++ {
		assert.Contains(t, titles, fmt.Sprintf("hole %d:", hole))
	}
}

// declaredTests returns all tests of the repository, as folder.Name.
func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	for _, dir := range []string{"backend", "core", "edge", "wasm"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == "node_modules" {
				return cmp.Or(err, fs.SkipDir)
			}
			if !strings.HasSuffix(path, "_test.go") {
				return nil
			}
			text, err := os.ReadFile(path)
			for _, found := range declared.FindAllSubmatch(text, -1) {
				tests[strings.TrimPrefix(filepath.Dir(path), root+"/")+"."+string(found[1])] = true
			}
			return err
		}))
	}
	return tests
}
