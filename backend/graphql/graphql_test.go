package graphql_test

import (
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/tenants"
	"kith/backend/file"
	"kith/backend/graphql"
	"kith/backend/store"
	"kith/backend/store/sqldtest"
	"kith/backend/store/storetest"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/wire"
)

func TestMain(m *testing.M) { sqldtest.Main(m) }

const (
	start core.Time = 1_772_355_600_000
	key             = "TEST_KEY_0123456789"
)

// bench is a server with one tenant, in which the user anna owns the code ANNA10.
type bench struct {
	*app.Engine
	server *graphql.Server
	clock  *atomic.Int64
	log    *strings.Builder
}

func newBench(t testing.TB) *bench {
	t.Helper()
	return benchOn(t, storetest.File(t))
}

func benchOn(t testing.TB, url string) *bench {
	t.Helper()
	db, err := store.Open(url, "")
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	require.NoError(t, db.Migrate(t.Context(), start))
	keys, err := auth.ParseKeyring("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
	require.NoError(t, err)
	b := &bench{clock: new(atomic.Int64), log: new(strings.Builder)}
	b.Engine = app.New(base.Base{
		DB: db, Keys: keys,
		Now:     func() core.Time { return start + core.Time(b.clock.Load()) },
		Entropy: func(p []byte) { _, _ = rand.Read(p) },
	})
	b.Files.Store, b.Jobs.CallTime = file.Dir(t.TempDir()), time.Hour
	require.NoError(t, b.Tenants.Create(t.Context(), tenants.NewTenant{
		Alias: "acme", Key: key, Policy: link.Policy{Consent: link.ConsentOff}, Program: referral.DefaultProgram("https://acme.example/"),
	}))
	b.server, err = graphql.New(b.Engine, slog.New(slog.NewTextHandler(b.log, nil)), false)
	require.NoError(t, err)
	b.server.MaxTime = time.Hour // tests do not depend on the speed of the machine
	b.call(t, b.keyHolder(t), `{"query":"mutation{upsertUser(userInput:{id:\"anna\",accountId:\"anna\",firstName:\"Anna\",lastName:\"Alm\",email:\"anna@example.com\",referralCode:\"ANNA10\"}){id}}"}`)
	return b
}

func (b *bench) keyHolder(t testing.TB) base.Caller {
	t.Helper()
	tenant, err := tenantdb.Find(t.Context(), b.DB.Reads, "acme")
	require.NoError(t, err)
	return base.Caller{Tenant: tenant, Key: true, Role: auth.RoleAll}
}

func (b *bench) userToken(t testing.TB, name string) base.Caller {
	c := b.anonymous(t)
	c.User = &wire.Subject{Account: core.AccountID(name), User: core.UserID(name)}
	return c
}

func (b *bench) anonymous(t testing.TB) base.Caller {
	c := b.keyHolder(t)
	c.Key = false
	return c
}

// send runs a body and returns the status and the answer.
func (b *bench) send(t testing.TB, c base.Caller, body string) (int, string) {
	t.Helper()
	status, answer, err := b.server.Answer(t.Context(), graphql.Request{
		Caller: c, Body: []byte(body), Base: "https://go.acme.example",
	})
	if err != nil {
		status, answer = wire.Failure(err)
	}
	require.True(t, json.Valid(answer), string(answer))
	return status, string(answer)
}

// call runs a body that must succeed, and returns the data.
func (b *bench) call(t testing.TB, c base.Caller, body string) string {
	t.Helper()
	status, answer := b.send(t, c, body)
	require.Equal(t, http.StatusOK, status, answer)
	data, ok := strings.CutPrefix(answer, `{"data":`)
	require.True(t, ok, answer)
	require.NotContains(t, answer, `"errors"`)
	return strings.TrimSuffix(data, "}")
}

// run is call for a query without variables, with the API key.
func (b *bench) run(t testing.TB, query string) string {
	t.Helper()
	return b.call(t, b.keyHolder(t), document(query))
}

// document returns the body of a call without variables.
func document(query string) string {
	text, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		panic(err)
	}
	return string(text)
}
