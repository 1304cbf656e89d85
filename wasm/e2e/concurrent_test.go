package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
)

// senders is the number of concurrent calls.
const senders = 64

// grounds are the databases with which rules about concurrent calls are tested.
var grounds = []struct {
	name string
	lay  func(*testing.T, *site)
}{
	{"embedded", func(*testing.T, *site) {}},
	{"primary", func(t *testing.T, s *site) {
		c := sqldtest.Shared(t)
		s.backendDatabase, s.edgeDatabase = c.PrimaryURL(), c.PrimaryURL()
		s.shareKey(t)
	}},
	{"replica", func(t *testing.T, s *site) {
		c := sqldtest.Shared(t)
		s.backendDatabase, s.edgeDatabase = c.PrimaryURL(), c.ReplicaURL()
		s.shareKey(t)
	}},
}

// shareKey gives a site the master key that all sites on the shared server have.
func (s *site) shareKey(t *testing.T) {
	t.Helper()
	key := strings.Repeat("5a", 32)
	require.NoError(t, os.WriteFile(filepath.Join(s.data, "master.key"), []byte(key+"\n"), 0o600))
}

var aliases atomic.Int64

// alias returns a new alias for a test's tenant, since grounds share a server and a test
// may run several times.
func alias(t testing.TB, s *site, name string) string {
	t.Helper()
	name = fmt.Sprintf("%s-%d", name, aliases.Add(1))
	s.createTenant(t, name, "--landing-url", "https://"+name+".example/")
	return name
}

// A key that was received is refused (spec 7.1), also when the senders are many and
// arrive together. The backend is down, so that whatever is answered
// was decided by the component and its database.
func TestEvents_OneKeyFromManySenders(t *testing.T) {
	t.Parallel()
	for _, ground := range grounds {
		t.Run(ground.name, func(t *testing.T) {
			s := newSite(t)
			ground.lay(t, s)
			tenant := alias(t, s, "onekey-"+ground.name)
			backend := s.serve(t)
			s.identify(t, s.backend, tenant, "anna", `{}`)
			if ground.name == "replica" {
				sqldtest.Shared(t).WaitForSync(t)
			}
			backend.kill()
			s.serveEdge(t)
			answers := atOnce(senders, func(i int) outcome {
				a, err := s.sendEvents(s.edge, tenant, "anna", fmt.Sprintf(`{"idempotencyKey":"order-1001","events":[{"key":"sender-%d"}]}`, i))
				return outcome{a, err}
			})
			require.Equal(t, map[int]int{http.StatusOK: 1, http.StatusConflict: senders - 1}, statuses(t, answers))
			s.serve(t)
			db := s.open(t)
			waitProcessed(t, db)
			for i, a := range answers {
				if a.status == http.StatusOK {
					require.Equal(t, []string{fmt.Sprintf("sender-%d", i)}, texts(t, db, `SELECT key FROM event WHERE tenant = ?`, tenant))
				}
			}
			require.Equal(t, 1, number(t, db, `SELECT count(*) FROM intake WHERE tenant = ?`, tenant))
		})
	}
}

// Only the first code counts (spec 3.1.2), also when many come together.
func TestIdentify_ManyCodesForOneNewUser(t *testing.T) {
	t.Parallel()
	for _, ground := range grounds[:2] {
		t.Run(ground.name, func(t *testing.T) {
			s := newSite(t)
			ground.lay(t, s)
			tenant := alias(t, s, "onecode-"+ground.name)
			s.serve(t)
			s.serveEdge(t)
			for i := range senders {
				s.identify(t, s.backend, tenant, "anna", fmt.Sprintf(`{"referralCode":"ANNA%d"}`, i))
			}
			answers := atOnce(senders, func(i int) outcome {
				a, err := call("PUT", s.edge+"/api/v1/"+tenant+"/open/account/ben/user/ben", fmt.Sprintf(`{"referralCode":"BEN20","referredByCodes":["ANNA%d"]}`, i), s.auth(tenant))
				return outcome{a, err}
			})
			require.Equal(t, map[int]int{http.StatusOK: senders}, statuses(t, answers))
			db := s.open(t)
			first := texts(t, db, `SELECT code FROM referral WHERE tenant = ?`, tenant)
			require.Len(t, first, 1)
			require.Equal(t, first, texts(t, db, `SELECT code FROM decision WHERE tenant = ? AND accepted = 1`, tenant))
			require.Equal(t, senders-1, number(t, db, `SELECT count(*) FROM decision WHERE tenant = ? AND rule = 'already-referred'`, tenant))
			newly := 0
			for _, a := range answers {
				by := decode[struct {
					ReferredBy struct {
						Code          string
						NewlyReferred bool
					}
				}](t, a.answer).ReferredBy
				require.Equal(t, first[0], by.Code)
				if by.NewlyReferred {
					newly++
				}
			}
			require.Equal(t, 1, newly, "only one call reports a new referral")
		})
	}
}

// The first PAID converts once, by any caller and with any number of reports (spec 3.1.4).
func TestFirstPaid_ReportedManyTimesAtOnce(t *testing.T) {
	t.Parallel()
	for _, ground := range grounds[:2] {
		t.Run(ground.name, func(t *testing.T) {
			s := newSite(t)
			ground.lay(t, s)
			tenant := alias(t, s, "onepaid-"+ground.name)
			s.serve(t)
			s.serveEdge(t)
			s.identify(t, s.backend, tenant, "anna", `{"referralCode":"ANNA10"}`)
			s.identify(t, s.backend, tenant, "ben", `{"referralCode":"BEN20","referredByCodes":["ANNA10"]}`)
			answers := atOnce(senders, func(i int) outcome {
				api := s.edge + "/api/v1/" + tenant
				method, url, body := "POST", api+"/accountsync", `{"id":"ben","subscription":{"status":"PAID"}}`
				if i%2 == 0 {
					method, url, body = "PUT", api+"/open/account/ben/user/ben", `{"account_status":"PAID"}`
				}
				a, err := call(method, url, body, s.auth(tenant))
				return outcome{a, err}
			})
			require.Equal(t, map[int]int{http.StatusOK: senders}, statuses(t, answers))
			db := s.open(t)
			require.Equal(t, []string{"converted"}, texts(t, db, `SELECT state FROM referral WHERE tenant = ?`, tenant))
			require.Equal(t, []string{"anna FRIEND_SIGNUP", "ben REFERRED"},
				texts(t, db, `SELECT account_id || ' ' || source FROM reward WHERE tenant = ? ORDER BY 1`, tenant))
		})
	}
}
