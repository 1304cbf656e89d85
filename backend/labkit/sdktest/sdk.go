// Package sdktest runs a gateway's own client library for Node, unmodified, so that tests use
// the same library as merchants. `make test` installs it.
package sdktest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"kith/backend/testenv"
)

// SDK is the library in a process of its own. It makes one call at a time.
type SDK struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// life bounds the process: a test that hangs fails and says so.
const life = 2 * time.Minute

// Start starts the library of a gateway, "braintree" or "stripe", for a lab at a base URL, with
// a merchant's keys. It ends with the test.
func Start(t testing.TB, gateway, base string, keys ...string) *SDK {
	t.Helper()
	dir, err := testenv.Path("backend/" + gateway + "lab/testdata/sdk")
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(dir, "node_modules", gateway)); err != nil {
		t.Fatalf("%v: run make test, or npm ci --ignore-scripts in %s", err, dir)
	}
	u, err := url.Parse(base)
	require.NoError(t, err)
	node := exec.Command("node", append([]string{"sdk.js", u.Hostname(), u.Port()}, keys...)...) // #nosec G204 -- tests run it, with their own arguments
	node.Dir, node.Stderr = dir, os.Stderr
	s := &SDK{}
	s.in, err = node.StdinPipe()
	require.NoError(t, err)
	out, err := node.StdoutPipe()
	require.NoError(t, err)
	s.out = bufio.NewReader(out)
	require.NoError(t, node.Start())
	kill := time.AfterFunc(life, func() { _ = node.Process.Kill() })
	t.Cleanup(func() {
		_ = s.in.Close()
		require.NoError(t, node.Wait())
		kill.Stop()
	})
	return s
}

// Line sends one line, see sdk.js, and returns its answer.
func (s *SDK) Line(t testing.TB, request any) gjson.Result {
	t.Helper()
	text, err := json.Marshal(request)
	require.NoError(t, err)
	_, err = s.in.Write(append(text, '\n'))
	require.NoError(t, err)
	answer, err := s.out.ReadString('\n')
	require.NoError(t, err)
	return gjson.Parse(answer)
}

// Try makes a call and returns its answer: "value" or "error".
func (s *SDK) Try(t testing.TB, call string, args ...any) gjson.Result {
	t.Helper()
	if args == nil {
		args = []any{}
	}
	return s.Line(t, map[string]any{"call": call, "args": args})
}

// Do makes a call that must succeed, and returns its value.
func (s *SDK) Do(t testing.TB, call string, args ...any) gjson.Result {
	t.Helper()
	answer := s.Try(t, call, args...)
	require.True(t, answer.Get("value").Exists(), "%s: %s", call, answer)
	require.NotEqual(t, gjson.False, answer.Get("value.success").Type, "%s: %s", call, answer)
	return answer.Get("value")
}

// Fail makes a call that must fail, and returns the error.
func (s *SDK) Fail(t testing.TB, call string, args ...any) gjson.Result {
	t.Helper()
	answer := s.Try(t, call, args...)
	require.True(t, answer.Get("error").Exists(), "%s: %s", call, answer)
	return answer.Get("error")
}

// Refused makes a call that the gateway must refuse, and returns the codes.
func (s *SDK) Refused(t testing.TB, call string, args ...any) []string {
	t.Helper()
	answer := s.Try(t, call, args...)
	require.Equal(t, gjson.False, answer.Get("value.success").Type, "%s: %s", call, answer)
	var codes []string
	for _, f := range answer.Get("value.failures").Array() {
		codes = append(codes, f.Get("code").String())
	}
	return codes
}
