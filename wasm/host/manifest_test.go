package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadManifest_OurOwn(t *testing.T) {
	t.Parallel()
	app, err := readManifest("../../spin.toml", map[string]string{"master_key": "k"})
	require.NoError(t, err)
	require.Equal(t, &application{
		source:    filepath.Join("..", "..", "bin", "edge.wasm"),
		routes:    app.routes,
		databases: []string{"default"},
		allowed:   []allowedHost{{"http", "127.0.0.1", "8080"}},
		variables: map[string]string{
			"master_key": "k", "backend_url": "http://127.0.0.1:8080", "backend_public_url": "",
			"max_body_bytes": "8388608", "trust_proxy": "false",
		},
	}, app)
	_, err = readManifest("../../spin.toml", nil)
	require.ErrorContains(t, err, "variable master_key is required and not given")
}

func TestReadManifest_Refuses(t *testing.T) {
	t.Parallel()
	good := strings.NewReplacer("%s", "1").Replace(manifestText)
	for _, row := range []struct{ old, new, want string }{
		{"manifest_version = 2", "manifest_version = 1", "spin_manifest_version is 1"},
		{"source =", "files = ['x']\nsource =", "key component.probe.files is not supported"},
		{"[[trigger.http]]", "[[trigger.redis]]\nchannel = 'c'\n[[trigger.http]]", "key trigger.redis"},
		{`"/..."`, `"/:id/..."`, "route"},
		{`component = "probe"`, `component = "other"`, `component "other" has no source`},
		{"{{ master_key }}", "{{ nothing }}", `no variable is named "nothing"`},
		{"{{backend_url}}", "{{backend_url", "}} is missing"},
		{"{{ backend_url }}\"]", "http://a/path\"]", "is not scheme://host:port"},
		{"required = true", "required = true, default = 'x'", "either required or a default"},
		{"master_key = {", "Master-Key = {", "not a name"},
	} {
		path := filepath.Join(t.TempDir(), "spin.toml")
		bad := strings.Replace(good, row.old, row.new, 1)
		require.NotEqual(t, good, bad)
		require.NoError(t, os.WriteFile(path, []byte(bad), 0o600))
		_, err := readManifest(path, map[string]string{"master_key": "k"})
		require.ErrorContains(t, err, row.want)
	}
	_, err := readManifest("../../spin.toml", map[string]string{"master_key": "k", "typo": "x"})
	require.ErrorContains(t, err, "variable typo is given and not declared")
}

func TestRoute(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		route, path, rest string
		ok                bool
	}{
		{"/...", "/", "/", true}, {"/...", "/a/b", "/a/b", true},
		{"/a/...", "/a", "", true}, {"/a/...", "/a/b", "/b", true}, {"/a/...", "/ab", "b", false},
		{"/a", "/a", "", true}, {"/a", "/a/", "", false},
	} {
		r, err := parseRoute(row.route)
		require.NoError(t, err)
		rest, ok := r.match(row.path)
		require.Equal(t, row.ok, ok, row)
		if ok {
			require.Equal(t, row.rest, rest, row)
		}
	}
}
