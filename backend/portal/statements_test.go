package portal_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/portal/portaltest"
	"kith/backend/store"
	"kith/backend/store/sqldtest"
	"kith/core"
	"kith/core/referral"
	"kith/core/rules"
)

// countingProxy starts a proxy of a libSQL server that counts the statements sent through
// it.
func countingProxy(t *testing.T, server string) (proxied string, statements *atomic.Int64) {
	t.Helper()
	statements = new(atomic.Int64)
	to, err := url.Parse(server)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		statements.Add(int64(bytes.Count(body, []byte(`"sql":`))))
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(listener.Close)
	return listener.URL, statements
}

// A page takes as many statements in a tenant with many users, programs and members as in
// one with few.
func TestPages_StatementsDoNotGrow(t *testing.T) {
	t.Parallel()
	server := strings.Replace(sqldtest.Start(t).PrimaryURL(), "ws:", "http:", 1)
	proxied, statements := countingProxy(t, server)
	db, err := store.Open(server, "")
	require.NoError(t, err)
	require.NoError(t, db.Migrate(context.Background(), 1))
	require.NoError(t, db.Close())
	w := portaltest.On(t, proxied)
	b := w.SignedIn(t, portaltest.Owner)
	grow := func(from, to int) {
		for i := from; i < to; i++ {
			id, code := fmt.Sprint("u", i), core.ReferralCode(fmt.Sprint("CODE", i))
			_, err := w.Engine.Identification.Identify(t.Context(), "acme", rules.Identification{Update: referral.UserUpdate{
				Account: core.AccountID(id), ID: core.UserID(id), Codes: []referral.UserCode{{Program: core.ClassicProgram, Code: code}},
			}})
			require.NoError(t, err)
			if i > 0 {
				status, of := referral.Paid, core.ReferralCode(fmt.Sprint("CODE", i-1))
				_, err = w.Engine.Accounts.Sync(t.Context(), "acme", referral.AccountUpdate{ID: core.AccountID(id), Status: &status, Code: &of})
				require.NoError(t, err)
			}
			p := referral.DefaultProgram("https://acme.example/")
			p.Key, p.Referrer.Kind = core.ProgramKey(fmt.Sprint("p", i)), "FUELTANK"
			_, err = w.Engine.Programs.Create(t.Context(), "acme", p)
			require.NoError(t, err)
			b.Post(t, "/portal/t/acme/members", "/portal/t/acme/members/invite", "email", id+"@acme.example", "role", "viewer")
		}
	}
	grow(0, 3)
	var pages []string
	for _, page := range benchPages {
		pages = append(pages, page.path)
	}
	b.SameStatements(t, statements, pages, func() { grow(3, 12) })
}
