package e2e

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
)

// A cookie of a user's call that is nested deeper than the stack of the component allows is
// ignored, and ends no instance: the call is answered.
func TestEdge_DeepCookies(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.dev(t)
	s.identify(t, s.backend, "demo", "ben", `{}`)
	token := "Authorization: Bearer " + s.token(t, "ben")
	for _, bracket := range []string{"[", `{"a":`} {
		deep := base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat(bracket, 500)))
		mustCall(t, http.StatusOK, "PUT", s.edge+"/api/v1/demo/open/account/ben/user/ben", `{"cookies":"`+deep+`"}`, token)
	}
}
