package graphql_test

import (
	"bytes"
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
	"github.com/tidwall/gjson"

	"kith/backend/store"
	"kith/backend/store/sqldtest"
)

// countingProxy starts a proxy of a libSQL server that counts the statements sent
// through it.
func countingProxy(t *testing.T, server string) (url string, statements *atomic.Int64) {
	t.Helper()
	statements = new(atomic.Int64)
	proxy := httputil.NewSingleHostReverseProxy(parseURL(t, server))
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

func parseURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	require.NoError(t, err)
	return u
}

// A nested list takes as many statements for 25 nodes as for 5.
func TestLists_StatementsDoNotGrow(t *testing.T) {
	server := strings.Replace(sqldtest.Start(t).PrimaryURL(), "ws:", "http:", 1)
	b := benchOn(t, server)
	b.run(t, "mutation{"+repeat(25, func(i int) string {
		by := "ANNA10"
		if i > 0 {
			by = fmt.Sprintf("CODE%d", i-1)
		}
		return fmt.Sprintf(`u%d:upsertUser(userInput:{accountId:"a%d",id:"u%d",referralCode:"CODE%d",referredByCodes:[%q],referredBy:{isConverted:true}}){id}`, i, i, i, i, by)
	})+"}")
	proxied, statements := countingProxy(t, server)
	db, err := store.Open(proxied, "")
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	b.DB = db
	caller := b.keyHolder(t)
	for name, query := range map[string]string{
		"users of referrals":   `{list:referrals(limit:%d){data{referrerUser{id referralCode} referredUser{id segments}}}}`,
		"rewards of referrals": `{list:referrals(limit:%d){data{program{id} rewards{user{id}} referrerReward{user{id}}}}}`,
		"referrals of users":   `{list:users(limit:%d){data{referredByReferral{program{id} referrerUser{id referredByReferrals{referrerUser{id}}}}}}}`,
		"what users referred":  `{list:users(limit:%d){data{referrals(limit:3){totalCount data{referredUser{id} rewards{user{id}}}} paid:referrals(filter:{dateConverted_gte:1}){count}}}}`,
		"rewards of users":     `{list:users(limit:%d){data{rewards(limit:3){totalCount data{user{id} referral{id referrerUser{id}} program{id}}} rewardBalanceDetails{unit}}}}`,
		"rewards":              `{list:rewards(limit:%d){data{user{id rewards{count}} referral{referredUser{id}}}}}`,
		"events of users":      `{list:users(limit:%d){data{userEvents(limit:3){data{id}} others:userEvents(filter:{key:"x"}){count}}}}`,
		"users of users":       `{list:referrals(limit:%d){data{referredUser{referredByReferral{referredUser{userEvents{count}}}}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			cost := func(limit int) int64 {
				before := statements.Load()
				data := b.call(t, caller, document(fmt.Sprintf(query, limit)))
				require.Len(t, gjson.Get(data, "list.data").Array(), limit)
				return statements.Load() - before
			}
			few := cost(5)
			require.Positive(t, few)
			require.Equal(t, few, cost(25))
		})
	}
	t.Run("users of several inputs", func(t *testing.T) {
		cost := func(inputs int) int64 {
			query := "mutation{logUserEvents(userEventInputs:[" + repeat(inputs, func(i int) string {
				return fmt.Sprintf(`{accountId:"a%d",userId:"u%d",events:[{key:"x"}]}`, i, i)
			}) + "]){...on UserEventResult{user{id}}}}"
			before := statements.Load()
			b.call(t, caller, document(query))
			return statements.Load() - before
		}
		// Each input takes its own statements. The users are loaded together.
		two, three := cost(2), cost(3)
		require.Equal(t, (three-two)*18, cost(20)-two)
		require.Less(t, three-two, int64(6))
	})
}
