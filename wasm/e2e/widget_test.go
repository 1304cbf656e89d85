package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The command line shows, changes, stores and removes a template.
func TestCLI_Widget(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	kith := func(args ...string) string {
		out, errOut, status := s.run(t, nil, append([]string{"widget"}, args...)...)
		require.Zero(t, status, errOut)
		return out
	}
	template := kith("show", "--tenant", "demo")
	require.True(t, strings.HasPrefix(template, "<!doctype html>\n"), template[:20])
	page, values := filepath.Join(t.TempDir(), "page.html"), filepath.Join(t.TempDir(), "values.json")
	own := strings.Replace(template, "<body>", "<body>Our shop", 1)
	require.NoError(t, os.WriteFile(page, []byte(own), 0o600))
	require.NoError(t, os.WriteFile(values, []byte(`{"title":"Ours"}`), 0o600))

	kith("set", "--tenant", "demo", "--type", "p/classic/w/referrerWidget", page)
	kith("set", "--tenant", "demo", "--values", values)
	require.Equal(t, own, kith("show", "--tenant", "demo"))
	require.Equal(t, "p/classic/w/referrerWidget\n", kith("list", "--tenant", "demo"))
	require.Empty(t, kith("list", "--tenant", "test_demo"))
	s.serve(t)
	a := mustCall(t, 200, "GET", s.backend+"/api/v1/demo/widgets/REFERRER_WIDGET", "", s.auth("demo"))
	require.Contains(t, a.body, `"values":{"title":"Ours"}`)
	kith("remove", "--tenant", "demo")
	require.Equal(t, template, kith("show", "--tenant", "demo"))

	for args, says := range map[string]string{
		"set --tenant demo --values " + page:       "values: ",
		"set --tenant demo " + values:              "template: must be a whole HTML document",
		"set --tenant demo /nowhere.html":          "/nowhere.html",
		"set --tenant demo --type p/x/w/y " + page: "names a program that does not exist",
		"show --tenant demo --type x":              "type: must be a widget",
		"list --tenant nobody":                     "no tenant",
	} {
		_, errOut, status := s.run(t, nil, append([]string{"widget"}, strings.Fields(args)...)...)
		require.Equal(t, 1, status, args)
		require.Contains(t, errOut, says, args)
	}
}
