package host

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ourManifest is the manifest of the component of this repository.
const ourManifest = "../../spin.toml"

func TestParseManifest_OurOwn(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(ourManifest)
	require.NoError(t, err)
	app, err := parseManifest(ourManifest, text, map[string]string{"master_key": "k"}, nil)
	require.NoError(t, err)
	require.Equal(t, &application{
		source:    filepath.Join("..", "..", "bin", "edge.wasm"),
		templates: app.templates, values: app.values,
		databases: []string{"default"},
		stores:    []string{"default"},
		allowed:   []allowedHost{{"http", "127.0.0.1", "8080"}},
		variables: map[string]string{
			"master_key": "k", "backend_url": "http://127.0.0.1:8080", "backend_public_url": "",
			"max_body_bytes": "8388608", "trusted_proxies": "",
			"host_counts": "", "clock_tolerance_ms": "300000",
			"link_max_age_ms": "1000",
		},
	}, app)
	_, err = parseManifest(ourManifest, text, nil, nil)
	require.ErrorContains(t, err, "variable master_key is required and not given")
	_, err = parseManifest(ourManifest, text, map[string]string{"master_key": "k", "typo": "x"}, nil)
	require.ErrorContains(t, err, "variable typo is given and not declared")
}

func TestParseManifest_Refuses(t *testing.T) {
	t.Parallel()
	good := strings.NewReplacer("%s", "1").Replace(manifestText)
	for _, row := range []struct{ old, new, want string }{
		{"manifest_version = 2", "manifest_version = 1", "spin_manifest_version is 1"},
		{"source =", "files = ['x']\nsource =", "key component.probe.files is not supported"},
		{"[[trigger.http]]", "[[trigger.redis]]\nchannel = 'c'\n[[trigger.http]]", "key trigger.redis"},
		{`"/..."`, `"/a/..."`, `want one [[trigger.http]], with the route "/..."`},
		{"[[trigger.http]]", "[[trigger.http]]\nroute = '/a'\ncomponent = 'probe'\n[[trigger.http]]", "want one [[trigger.http]]"},
		{`component = "probe"`, `component = "other"`, `component "other" has no source`},
		{"{{ master_key }}", "{{ nothing }}", `no variable is named "nothing"`},
		{"{{backend_url}}", "{{backend_url", "}} is missing"},
		{"{{ backend_url }}\"]", "http://a/path\"]", "is not scheme://host:port"},
		{"required = true", "required = true, default = 'x'", "either required or a default"},
		{"master_key = {", "Master-Key = {", "not a name"},
	} {
		bad := strings.Replace(good, row.old, row.new, 1)
		require.NotEqual(t, good, bad)
		_, err := parseManifest("spin.toml", []byte(bad), map[string]string{"master_key": "k"}, nil)
		require.ErrorContains(t, err, row.want)
		require.ErrorContains(t, err, "host: spin.toml: ")
	}
}

// ReadFile reads both the manifest and the module, the latter by its path relative to the
// manifest's folder.
func TestLoad_ReadFile(t *testing.T) {
	t.Parallel()
	module, err := os.ReadFile(probe(t))
	require.NoError(t, err)
	files := map[string][]byte{
		"app/spin.toml":      fmt.Appendf(nil, manifestText, "1", "bin/probe.wasm"),
		"app/bin/probe.wasm": module,
		"app/lost.toml":      fmt.Appendf(nil, manifestText, "1", "bin/lost.wasm"),
	}
	load := func(path string) error {
		h, err := Load(t.Context(), path, Options{
			Variables: map[string]string{"master_key": "k"}, CacheDir: cacheDir,
			ReadFile: func(path string) ([]byte, error) {
				if text, ok := files[path]; ok {
					return text, nil
				}
				return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
			},
		})
		if err == nil {
			err = h.Close(t.Context())
		}
		return err
	}
	require.NoError(t, load("app/spin.toml"))
	require.EqualError(t, load("none.toml"), "host: manifest: open none.toml: file does not exist")
	require.EqualError(t, load("app/lost.toml"), "host: component: open app/bin/lost.wasm: file does not exist")
}

// A folder of compiled code that cannot be used does not keep a host from its start.
func TestLoad_WithoutCache(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	b := start(t, probe(t), "1", func(o *Options) { o.CacheDir = file })
	require.Contains(t, b.log.String(), "the compiled component is not kept")
}
