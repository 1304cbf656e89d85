package account

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBrowserOf(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36":                     "Chrome on Linux",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Safari/604.1": "Safari on iPhone",
		"Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0":                                                      "Firefox on Windows",
		"curl/8.5.0": "curl", "": "Unknown browser",
	} {
		require.Equal(t, want, browserOf(agent))
	}
}
