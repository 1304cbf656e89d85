package route_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/edge/route"
)

// The edge handles a short list of methods and paths; the backend handles and refuses
// all others.
func TestParse(t *testing.T) {
	t.Parallel()
	shareLink := route.Route{Kind: route.ShareLink, Tenant: "shop", Code: "ANNA10"}
	page, script, ready := route.Route{Kind: route.Page}, route.Route{Kind: route.Script}, route.Route{Kind: route.Ready}
	code := route.Route{Kind: route.Code, Tenant: "shop", Code: "ANNA10"}
	openCode := route.Route{Kind: route.OpenCode, Tenant: "shop", Code: "ANNA10"}
	graphQL := route.Route{Kind: route.GraphQL, Tenant: "shop"}
	identify := route.Route{Kind: route.Identify, Tenant: "shop", Account: "acme", User: "anna"}
	events := route.Route{Kind: route.Events, Tenant: "shop", Account: "acme", User: "anna"}
	const user = "/api/v1/shop/open/account/acme/user/anna"
	for _, c := range []struct {
		methods, path string
		want          route.Route
	}{
		{"GET HEAD", "/s/shop/ANNA10", shareLink},
		{"POST PUT DELETE PATCH OPTIONS get", "/s/shop/ANNA10", route.Route{}},
		{"GET", "/s/shop/ANNA%31%30", shareLink},
		{"GET", "/s/shop", route.Route{}},
		{"GET", "/s/shop/", route.Route{}},
		{"GET", "/s/shop/ANNA10/", route.Route{}},
		{"GET", "/s/shop/ANNA10/more", route.Route{}},
		{"GET", "/s//ANNA10", route.Route{}},
		{"GET", "/s/shop/ANNA%zz", route.Route{}},
		{"GET", "/s/shop/ANNA%2F10", route.Route{}},
		{"GET", "/s/sh%20op/ANNA10", route.Route{}},
		{"GET", "/s/shop/" + strings.Repeat("A", 65), route.Route{}},

		{"GET HEAD", "/", page},
		{"GET HEAD", "/welcome/friends", page},
		{"GET HEAD", "/s", page},
		{"GET HEAD", "/api", page},
		{"GET", "/a/shop/about", page},
		{"POST PUT DELETE OPTIONS", "/welcome", route.Route{}},
		{"GET", "/healthz", route.Route{}},
		{"GET", "/.well-known/jwks.json", route.Route{}},
		{"GET", "/a/shop/consent", route.Route{}},
		{"GET", "/a/shop/widgets/squatchcookiejson", route.Route{}},

		{"GET HEAD", "/kith.js", script},
		{"POST", "/kith.js", route.Route{}},
		{"GET HEAD", "/readyz", ready},
		{"POST", "/readyz", route.Route{}},

		{"GET", "/api/v1/shop/code/ANNA10", code},
		{"HEAD POST DELETE", "/api/v1/shop/code/ANNA10", route.Route{}},
		{"GET", "/api/v1/shop/code/not a code", route.Route{}},
		{"POST", "/api/v1/shop/open/account/./user/../events", route.Route{}}, // the backend knows no such path
		{"POST", "/api/v1/shop/open/account/%2E/user/%2e./events", route.Route{Kind: route.Events, Tenant: "shop", Account: ".", User: ".."}},
		{"GET", "/api/v1/shop/code/ANNA10/", route.Route{}},
		{"GET", "/api/v2/shop/code/ANNA10", route.Route{}},
		{"GET", "/api/v1/shop/open/code/ANNA10", openCode},
		{"HEAD POST", "/api/v1/shop/open/code/ANNA10", route.Route{}},
		{"GET", "/api/v1/open/code/ANNA10", route.Route{Kind: route.Code, Tenant: "open", Code: "ANNA10"}},

		{"PUT", user, identify},
		{"POST GET DELETE PATCH", user, route.Route{}},
		{"PUT", user + "/", route.Route{}},
		{"PUT", "/api/v1/shop/open/account/acme/users/anna", route.Route{}},
		{"PUT", "/api/v1/shop/open/account//user/anna", route.Route{}},
		{"PUT", "/api/v1/shop/open/account/a%2Fb/user/c%20%C3%A4", route.Route{Kind: route.Identify, Tenant: "shop", Account: "a/b", User: "c ä"}},
		{"PUT", "/api/v1/shop/open/account/a%FF/user/anna", route.Route{}},

		{"POST", user + "/events", events},
		{"GET PUT", user + "/events", route.Route{}},
		{"POST", user + "/event", route.Route{}},

		{"POST", "/api/v1/shop/graphql", graphQL},
		{"GET", "/api/v1/shop/graphql", route.Route{}},
		{"POST", "/api/v1/shop/graphql/", route.Route{}},
		{"POST", "/api/v1/sh!op/graphql", route.Route{}},
	} {
		for _, method := range strings.Fields(c.methods) {
			require.Equal(t, c.want, route.Parse(method, c.path), "%s %s", method, c.path)
		}
	}
}

// Parse does not panic, and a route has the names of its kind.
func FuzzParse(f *testing.F) {
	f.Add("GET", "/s/shop/ANNA10")
	f.Add("PUT", "/api/v1/shop/open/account/a%2Fb/user/anna")
	f.Fuzz(func(t *testing.T, method, path string) {
		r := route.Parse(method, path)
		named := r.Kind != route.Other && r.Kind != route.Page && r.Kind != route.Script && r.Kind != route.Ready
		if named != (r.Tenant != "") || (r.Account == "") != (r.User == "") {
			t.Errorf("%s %q: %+v", method, path, r)
		}
	})
}
