package app_test

import (
	"crypto/hmac"
	"crypto/sha1" // #nosec G505 -- Segment signs with it
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/users"
	"kith/core"
	"kith/core/auth"
	"kith/core/event"
	"kith/core/link"
	"kith/core/pipeline"
	"kith/core/referral"
	"kith/core/wire"
)

// messageID returns a message id in the form of analytics.js.
func messageID(i int) string {
	return fmt.Sprintf("ajs-next-1772355600000-00000000-0000-4000-8000-%012d", i)
}

// batchOf returns a batch of identifies and tracks of n users, whose orders are before
// their identifies, and the number of its messages.
func batchOf(n int) (body string, messages int) {
	var all []string
	for i := range n {
		all = append(all,
			fmt.Sprintf(`{"type":"track","messageId":"%s","userId":"u%d","event":"Order Completed","properties":{"order_id":"o%d","revenue":"80.50"}}`, messageID(3*i), i, i),
			fmt.Sprintf(`{"type":"identify","messageId":"%s","userId":"u%d","traits":{"name":"Uma Lee","email":"u%d@shop.example","referral_code":"ANNA10"}}`, messageID(3*i+1), i, i),
			fmt.Sprintf(`{"type":"track","messageId":"%s","userId":"u%d","event":"Order Refunded","properties":{"order_id":"o%d","total":30}}`, messageID(3*i+2), i, i))
	}
	return `{"batch":[` + strings.Join(all, ",") + `]}`, len(all)
}

func (b bundle) receive(t testing.TB, body string) []pipeline.Result {
	t.Helper()
	results, err := b.Pipelines.Receive(t.Context(), b.tenant, []byte(body), link.Share{Origin: "https://go.shop.example", Tenant: b.tenant})
	require.NoError(t, err)
	return results
}

// states counts results by state.
func states(results []pipeline.Result) (n [pipeline.Failed + 1]int) {
	for _, r := range results {
		n[r.State]++
	}
	return n
}

// A pipeline that repeats a batch changes no row of the database.
func TestReceive_SameBatchAgainChangesNoRow(t *testing.T) {
	t.Parallel()
	b, rows := bundleWithRows(t)
	every := everyRow(t, rows)

	body, n := batchOf(70) // three transactions
	require.Equal(t, [...]int{n, 0, 0, 0}, states(b.receive(t, body)))
	stored, err := b.Users.ByID(t.Context(), b.tenant, "u69", "u69")
	require.NoError(t, err)
	require.Equal(t, "Uma", stored.User.FirstName)
	require.NotNil(t, stored.ReferredBy.Referral)
	before := texts(t, rows, every)
	for _, later := range []core.Time{core.Second, core.Hour, event.KeyLife - core.Hour - core.Second} {
		b.pass(later)
		require.Equal(t, [...]int{0, n, 0, 0}, states(b.receive(t, body)))
		require.Equal(t, before, texts(t, rows, every))
	}
}

// Of many deliveries of one batch at once, each message is processed by exactly one.
func TestReceive_ConcurrentDeliveriesProcessEachMessageOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		body, n := batchOf(4)
		results := make([][]pipeline.Result, callersAtOnce)
		for _, err := range concurrently(func(i int) (err error) {
			results[i], err = b.Pipelines.Receive(t.Context(), b.tenant, []byte(body), link.Share{Origin: "https://go.shop.example", Tenant: b.tenant})
			return err
		}) {
			require.NoError(t, err)
		}
		processed, duplicates := 0, 0
		for _, one := range results {
			processed += states(one)[pipeline.Processed]
			duplicates += states(one)[pipeline.Duplicate]
		}
		require.Equal(t, n, processed)
		require.Equal(t, n*(callersAtOnce-1), duplicates)
	})
}

// An identify that is repeated late does not revert a newer one.
func TestReceive_RepeatedIdentifyDoesNotRevert(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	identify := `{"type":"identify","messageId":"%s","userId":"u","traits":{"firstName":"%s"}}`
	older, newer := fmt.Sprintf(identify, messageID(1), "Uma"), fmt.Sprintf(identify, messageID(2), "Ulla")
	for _, body := range []string{older, newer, older} {
		b.receive(t, body)
	}
	stored, err := b.Users.ByID(t.Context(), b.tenant, "u", "u")
	require.NoError(t, err)
	require.Equal(t, "Ulla", stored.User.FirstName)
}

// A refused message is refused again, does not affect the others, and its id is not used
// up.
func TestReceive_RefusedMessageKeepsItsID(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	s := pipeline.Default()
	s.CreateUsers = false
	_, err := b.Pipelines.Change(t.Context(), b.tenant, s)
	require.NoError(t, err)
	track := fmt.Sprintf(`{"type":"track","messageId":"%s","userId":"u","event":"x"}`, messageID(1))
	other := fmt.Sprintf(`{"type":"identify","messageId":"%s","userId":"v"}`, messageID(2))
	require.Equal(t, [...]int{1, 0, 0, 1}, states(b.receive(t, "["+track+","+other+"]")))
	require.Equal(t, [...]int{0, 1, 0, 1}, states(b.receive(t, "["+track+","+other+"]")))
	b.receive(t, `{"type":"identify","userId":"u"}`)
	require.Equal(t, [...]int{1, 1, 0, 0}, states(b.receive(t, "["+track+","+other+"]")))
}

// A user who was deleted and must not be tracked is not created again by an event.
func TestReceive_DeletedUserIsNotTracked(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.receive(t, `{"type":"identify","userId":"u"}`)
	require.NoError(t, b.Erasures.DeleteUser(t.Context(), b.tenant, "u", "u", users.DeleteOptions{DoNotTrack: true}))
	results := b.receive(t, `{"type":"track","userId":"u","event":"x"}`)
	require.Equal(t, pipeline.Failed, results[0].State)
	require.ErrorContains(t, results[0].Err, "not to be tracked again")
}

func sign(secret, body string) string {
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

// A body is accepted with its signature by the secret, and by the secret before until
// the overlap ends.
func TestAuthenticate_Signature(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		const first = `{"type":"identify","userId":"u"}`
		const body = `[` + first + `,{"type":"identify","userId":"v"}]`
		accepts := func(signature, body string) error {
			c, err := b.Pipelines.Authenticate(t.Context(), b.tenant, signature, []byte(body))
			require.Equal(t, err == nil, c.Key)
			if err == nil {
				require.Equal(t, auth.RoleEvents, c.Role)
			}
			return err
		}
		require.ErrorContains(t, accepts(sign("", body), body), "is not that of the body")
		old, until, err := b.Pipelines.RotateSecret(t.Context(), b.tenant, core.Hour)
		require.NoError(t, err)
		require.Zero(t, until)
		require.NoError(t, accepts(sign(old, body), body))
		require.ErrorContains(t, accepts(sign(old, first), body), "is that of the first of 2 messages only")
		secret, until, err := b.Pipelines.RotateSecret(t.Context(), b.tenant, core.Hour)
		require.NoError(t, err)
		require.Equal(t, b.Engine.Now()+core.Hour, until)
		require.NoError(t, accepts(sign(old, body), body))
		require.NoError(t, accepts(sign(secret, body), body))
		b.pass(core.Hour)
		require.Error(t, accepts(sign(old, body), body))
		require.NoError(t, accepts(sign(secret, body), body))
		last, _, err := b.Pipelines.RotateSecret(t.Context(), b.tenant, 0)
		require.NoError(t, err)
		require.Error(t, accepts(sign(secret, body), body))
		require.NoError(t, accepts(sign(last, body), body))
		s := pipeline.Default()
		s.CreateUsers = false
		_, err = b.Pipelines.Change(t.Context(), b.tenant, s)
		require.NoError(t, err)
		require.NoError(t, accepts(sign(last, body), body))
		require.NoError(t, b.Pipelines.RemoveSecret(t.Context(), b.tenant))
		require.Error(t, accepts(sign(last, body), body))
		stored, err := b.Pipelines.Settings(t.Context(), b.tenant)
		require.NoError(t, err)
		require.Equal(t, string(wire.PipelineSettings(s)), string(wire.PipelineSettings(stored)))
	})
}

// A message that places an order, or refunds a part of one, counts once for as long as the
// order is kept, also if it names neither.
func TestReceive_CountsOnceForEver(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.owner(t, "anna", "ANNA10")
	b.shop(t, func(p *referral.Program) { p.ReferrerTerms.Orders = 5 })
	b.identify(t, "u", b.cookie("ANNA10"))
	b.pass(core.Second)
	track := func(id, event, properties string) string {
		return fmt.Sprintf(`{"type":"track","messageId":%q,"userId":"u","event":%q,"properties":%s}`, id, event, properties)
	}
	for range 3 {
		b.receive(t, track("message-1", "Order Completed", `{"revenue":"80.00"}`))
		b.receive(t, track("no key: 2", "Order Completed", `{"revenue":"20.00"}`)) // not the form of a key
		b.receive(t, track("message-3", "Order Refunded", `{"order_id":"message-1","total":"40.00"}`))
		b.receive(t, track("no key: 4", "Order Refunded", `{"order_id":"no key: 2","total":"10.00"}`))
		b.process(t)
		require.Equal(t, []string{"message-1: 1, 800-400, 1000", "no key: 2: 2, 200-100, all-orders-rewarded"}, b.orders(t, "u"))
		b.pass(event.KeyLife + core.Second)
	}
}
