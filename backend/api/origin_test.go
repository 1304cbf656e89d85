package api

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app"
	"kith/backend/app/base"
)

// Links begin with the public URL, also for a shop's server on the same machine.
func TestOrigin(t *testing.T) {
	for _, c := range []struct{ public, host, want string }{
		{"https://go.example", "127.0.0.1:3000", "https://go.example"},
		{"https://go.example", "api.internal", "https://go.example"},
		{"", "127.0.0.1:3000", "http://127.0.0.1:3000"},
		{"", "api.internal", ""},
	} {
		r := httptest.NewRequest("GET", "http://"+c.host+"/", nil)
		a := &API{Engine: &app.Engine{Base: &base.Base{PublicURL: c.public}}}
		require.Equal(t, c.want, a.origin(r), "%+v", c)
	}
}
