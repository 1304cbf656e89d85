package app_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
	"kith/backend/app/webhooks"
	"kith/backend/store"
	"kith/backend/store/webhookdb"
	"kith/core"
	"kith/core/referral"
	"kith/core/webhook"
)

var someSlots = webhook.Slots{All: 64, PerQueue: 8}

// serverDeliveries is locked by the one test that has deliveries on the server, since
// Begin begins the attempts of all tenants.
var serverDeliveries sync.Mutex

// withDeliveries is everywhere, for tests with deliveries.
func withDeliveries(t *testing.T, test func(*testing.T, bundle)) {
	t.Parallel()
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		test(t, newBundle(t))
	})
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		serverDeliveries.Lock()
		defer serverDeliveries.Unlock()
		b := bundleOn(t, openServer(t))
		defer func() {
			all, err := b.Webhooks.List(t.Context(), b.tenant)
			require.NoError(t, err)
			for _, s := range all {
				require.NoError(t, b.Webhooks.Unsubscribe(t.Context(), b.tenant, string(s.Endpoint)))
			}
		}()
		test(t, b)
	})
}

// begin begins the attempts that are due, as if no other attempt was running.
func (b bundle) begin(t testing.TB) []webhooks.Sending {
	t.Helper()
	begun, err := b.Deliveries.Begin(t.Context(), someSlots, webhook.Busy{})
	require.NoError(t, err)
	return b.mine(begun...)
}

// mine removes the attempts of other tenants, which other tests left on the server.
func (b bundle) mine(begun ...[]webhooks.Sending) []webhooks.Sending {
	return slices.DeleteFunc(slices.Concat(begun...), func(s webhooks.Sending) bool { return s.Tenant != b.tenant })
}

// end records that each attempt got a response with the status, or none if it is 0.
func (b bundle) end(t testing.TB, status int, made ...webhooks.Sending) (late int) {
	t.Helper()
	var sent []webhooks.Sent
	for _, s := range made {
		a := webhook.Attempt{Number: s.Number, Started: b.Now(), Duration: 7, Status: status, Answer: "answer"}
		if status == 0 {
			a.Error, a.Answer = "no answer", ""
		}
		sent = append(sent, webhooks.Sent{Sending: s, Attempt: a})
	}
	late, err := b.Deliveries.End(t.Context(), sent)
	require.NoError(t, err)
	return late
}

// delivery returns the only delivery to an endpoint.
func (b bundle) delivery(t testing.TB, queue webhook.Queue) webhook.Delivery {
	t.Helper()
	page, total, err := b.Deliveries.List(t.Context(), queue, "", base.Page{Limit: 10})
	require.NoError(t, err)
	require.Equal(t, 1, total)
	return page[0]
}

// withTestEvent subscribes an endpoint that has one event due.
func withTestEvent(t *testing.T, b bundle) webhook.Queue {
	t.Helper()
	queue := b.subscribe(t, hook)
	require.NoError(t, second(b.Webhooks.Test(t.Context(), b.tenant, hook)))
	return queue
}

func TestDeliveries_Content(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		s, err := b.Webhooks.Subscribe(t.Context(), b.tenant, webhook.Request{Endpoint: hook, Name: "Shop"})
		require.NoError(t, err)
		require.NoError(t, second(b.Webhooks.Test(t.Context(), b.tenant, hook)))
		b.pass(core.Minute)
		begun := b.begin(t)
		require.Len(t, begun, 1)
		id := begun[0].Event
		require.Equal(t, webhooks.Sending{
			DeliveryKey: webhook.DeliveryKey{Tenant: b.tenant, Endpoint: hook, Event: id}, Number: 1, Tries: 1,
			Body: fmt.Appendf(nil, `{"id":%q,"type":"test","tenantAlias":%q,"live":true,"created":%d,"subject":"test","sequence":1,"data":{"endpointUrl":%q,"name":"Shop"}}`,
				id, b.tenant, start, hook),
			Secrets: []string{s.Secret}, APIKey: b.key,
		}, begun[0])
		b.end(t, 204, begun...)
		require.Equal(t, webhook.Delivery{
			DeliveryKey: begun[0].DeliveryKey, Type: webhook.Test, State: webhook.Delivered, Created: start, Ended: start + core.Minute, Tried: 1,
			Attempts: []webhook.Attempt{{Number: 1, Started: start + core.Minute, Duration: 7, Status: 204, Answer: "answer"}},
		}, b.delivery(t, webhook.Queue{Tenant: b.tenant, Endpoint: hook}))
		require.Empty(t, b.begin(t))
	})
}

// An attempt that ends while a delivery is read is not shown beside the state before it.
func TestDeliveries_AttemptsFitTheState(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		queue := withTestEvent(t, b)
		begun := b.begin(t)
		require.Len(t, begun, 1)
		require.NoError(t, b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) error {
			return tx.Exec(t.Context(), "attempt", `INSERT INTO webhook_attempt (tenant, url, event_id, number, started_at, duration, status, error, answer)
				VALUES (?, ?, ?, 1, 1, 1, 204, '', '')`, string(b.tenant), hook, begun[0].Event)
		}))
		got := b.delivery(t, queue)
		require.Equal(t, webhook.Sending, got.State)
		require.Empty(t, got.Attempts)
	})
}

// There are ten attempts, each at its time of the schedule and not before, with the same id
// and the same body.
func TestDeliveries_Schedule(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		queue := withTestEvent(t, b)
		var first webhooks.Sending
		for try := 1; try <= webhook.MaxTries; try++ {
			begun := b.begin(t)
			require.Len(t, begun, 1, "try %d", try)
			s := begun[0]
			if try == 1 {
				first = s
			}
			require.Equal(t, [2]int{try, try}, [2]int{s.Number, s.Tries})
			require.Equal(t, try > 1, s.Failing)
			require.Equal(t, first.Body, s.Body)
			require.Equal(t, first.Event, s.Event)
			b.end(t, []int{500, 0, 302, 404}[try%4], s)
			require.Empty(t, b.begin(t), "at once after try %d", try)
			d := b.delivery(t, queue)
			if try == webhook.MaxTries {
				require.Equal(t, webhook.Failed, d.State)
				break
			}
			delay, _ := webhook.Delay(try, 0)
			require.Equal(t, webhook.Waiting, d.State)
			require.GreaterOrEqual(t, d.Due, b.Now()+delay)
			require.LessOrEqual(t, d.Due, b.Now()+delay+delay/10)
			b.pass(d.Due - b.Now() - 1)
			require.Empty(t, b.begin(t), "1 ms before try %d", try+1)
			b.pass(1)
		}
		require.Len(t, b.delivery(t, queue).Attempts, webhook.MaxTries)
		b.pass(7 * core.Day)
		require.Empty(t, b.begin(t))
	})
}

// A process whose lease was released does not overwrite the result of the process that
// leased the attempt next.
func TestDeliveries_LateResultDoesNotCount(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		queue := withTestEvent(t, b)
		paused := b.begin(t)
		require.Len(t, paused, 1)
		b.pass(core.Day)
		require.Empty(t, b.begin(t), "a lease does not end by time")
		b.stopped(t, b.Engine)
		other := b.begin(t)
		require.Len(t, other, 1)
		require.Equal(t, 2, other[0].Number)
		require.Equal(t, 1, b.end(t, 500, paused...), "before the other process has ended its attempt")
		require.Equal(t, webhook.Sending, b.delivery(t, queue).State)
		require.Zero(t, b.end(t, 200, other...))
		require.Equal(t, 1, b.end(t, 500, paused...), "after the other process has ended its attempt")
		require.Equal(t, 1, b.end(t, 500, other...), "twice")
		d := b.delivery(t, queue)
		require.Equal(t, webhook.Delivered, d.State)
		require.Len(t, d.Attempts, 1)
		require.Equal(t, 2, d.Attempts[0].Number)
	})
}

// The result of an attempt whose subscription was deleted meanwhile is not late: no
// process makes the attempt again.
func TestDeliveries_GoneWhileSent(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		queue := withTestEvent(t, b)
		begun := b.begin(t)
		require.Len(t, begun, 1)
		require.NoError(t, b.Webhooks.Unsubscribe(t.Context(), b.tenant, string(queue.Endpoint)))
		require.Zero(t, b.end(t, 200, begun...))
		b.stopped(t, b.Engine)
		require.Empty(t, b.begin(t))
	})
}

// Two processes never begin the same attempt.
func TestDeliveries_EachBegunByOneProcess(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		b.subscribe(t, hook)
		const events = 40
		for range events {
			require.NoError(t, second(b.Webhooks.Test(t.Context(), b.tenant, hook)))
		}
		seen := map[string]int{}
		for len(seen) < events {
			taken := make(chan [][]webhooks.Sending, callersAtOnce)
			for _, err := range concurrently(func(int) error {
				begun, err := b.Deliveries.Begin(t.Context(), webhook.Slots{All: 4, PerQueue: 1}, webhook.Busy{})
				taken <- begun
				return err
			}) {
				require.NoError(t, err)
			}
			for range callersAtOnce {
				for _, s := range b.mine(<-taken...) {
					seen[s.Event]++
				}
			}
		}
		for id, times := range seen {
			require.Equal(t, 1, times, id)
		}
	})
}

// Attempts begin in the order of the events.
func TestDeliveries_BeginInOrder(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		queue := b.subscribe(t, hook)
		for range 20 {
			require.NoError(t, second(b.Webhooks.Test(t.Context(), b.tenant, hook)))
			b.pass(1)
		}
		var begun []string
		for {
			some := b.begin(t)
			if len(some) == 0 {
				break
			}
			require.LessOrEqual(t, len(some), someSlots.PerQueue)
			for _, s := range some {
				begun = append(begun, s.Event)
			}
			b.end(t, 200, some...)
		}
		page, _, err := b.Deliveries.List(t.Context(), queue, webhook.Delivered, base.Page{Limit: 100})
		require.NoError(t, err)
		require.Len(t, begun, 20)
		for i, d := range page {
			require.Equal(t, d.Event, begun[len(begun)-1-i])
		}
	})
}

// A slot takes several events of a quick endpoint. What it does not send is due again, as if it
// had not been begun, and before later events.
func TestDeliveries_SlotTakesSeveral(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		queue := b.subscribe(t, hook)
		var events []string
		for range 12 {
			id, err := b.Webhooks.Test(t.Context(), b.tenant, hook)
			require.NoError(t, err)
			events = append(events, id)
			b.pass(1)
		}
		begin := func() [][]webhooks.Sending {
			begun, err := b.Deliveries.Begin(t.Context(), webhook.Slots{All: 64, PerQueue: 2, PerSlot: 3}, webhook.Busy{Quick: map[webhook.Queue]bool{queue: true}})
			require.NoError(t, err)
			return slices.DeleteFunc(begun, func(slot []webhooks.Sending) bool { return len(b.mine(slot)) == 0 })
		}
		of := func(slots [][]webhooks.Sending) (ids [][]string) {
			for _, slot := range slots {
				ids = append(ids, nil)
				for _, s := range slot {
					require.Equal(t, []int{1, 1}, []int{s.Number, s.Tries})
					ids[len(ids)-1] = append(ids[len(ids)-1], s.Event)
				}
			}
			return ids
		}
		sent := func(s webhooks.Sending, status int) []webhooks.Sent {
			return []webhooks.Sent{{Sending: s, Attempt: webhook.Attempt{Number: s.Number, Started: b.Now(), Status: status}}}
		}
		begun := begin()
		require.Equal(t, [][]string{{events[0], events[2], events[4]}, {events[1], events[3], events[5]}}, of(begun))
		require.NoError(t, second(b.Deliveries.End(t.Context(), sent(begun[0][0], 200), begun[0][1:]...)))

		again := begin()
		require.Equal(t, [][]string{{events[2], events[6], events[8]}, {events[4], events[7], events[9]}}, of(again))

		require.NoError(t, second(b.Deliveries.End(t.Context(), sent(again[0][0], 410), again[0][1:]...)))
		require.NoError(t, second(b.Deliveries.End(t.Context(), sent(begun[1][0], 200), begun[1][1:]...)))
		require.Empty(t, begin(), "the endpoint is disabled")
		_, failed, err := b.Deliveries.List(t.Context(), queue, webhook.Failed, base.Page{Limit: 1})
		require.NoError(t, err)
		require.Equal(t, 7, failed, "2, 6 and 8 of the slot, 3 and 5 of the other, and 10 and 11")
	})
}

func TestDeliveries_FailingEndpointGetsOneAtATime(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		queue := b.subscribe(t, hook)
		for range 10 {
			require.NoError(t, second(b.Webhooks.Test(t.Context(), b.tenant, hook)))
		}
		begun := b.begin(t)
		require.Len(t, begun, someSlots.PerQueue)
		b.end(t, 500, begun[0])
		health := func() core.Time {
			all, err := b.Webhooks.List(t.Context(), b.tenant)
			require.NoError(t, err)
			return all[0].FailingSince
		}
		require.Equal(t, b.Now(), health())
		begun2, err := b.Deliveries.Begin(t.Context(), someSlots, webhook.Busy{Healthy: 7, Queues: map[webhook.Queue]int{queue: 7}})
		require.NoError(t, err)
		require.Empty(t, b.mine(begun2...), "while others are running")
		one := b.begin(t)
		require.Len(t, one, 1)
		b.end(t, 200, one...)
		require.Zero(t, health())
		require.Len(t, b.begin(t), 1, "the last of the ten")
	})
}

// The last result of a batch decides whether its endpoint fails, and since when. A result of an
// attempt that was begun again, or whose endpoint is gone, decides nothing. After a 410 in a
// batch, no delivery waits.
func TestDeliveries_ResultsOfABatch(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		queue := b.subscribe(t, hook)
		for range 8 {
			require.NoError(t, second(b.Webhooks.Test(t.Context(), b.tenant, hook)))
		}
		begun := b.begin(t)
		require.Len(t, begun, 8)
		end := func(late int, statuses ...int) {
			t.Helper()
			var made []webhooks.Sent
			for i, status := range statuses {
				made = append(made, webhooks.Sent{Sending: begun[i], Attempt: webhook.Attempt{Number: begun[i].Number, Started: b.Now(), Status: status}})
			}
			was, err := b.Deliveries.End(t.Context(), made)
			require.NoError(t, err)
			require.Equal(t, late, was)
			begun = begun[len(made):]
		}
		endpoint := func() webhook.Subscription {
			all, err := b.Webhooks.List(t.Context(), b.tenant)
			require.NoError(t, err)
			return all[0]
		}
		end(0, 500, 200)
		require.Zero(t, endpoint().FailingSince)
		end(0, 500)
		b.pass(1)
		end(0, 200, 500)
		require.Equal(t, b.Now(), endpoint().FailingSince, "it worked in between")

		begun[0].Number++
		begun[1].Endpoint += "/gone"
		end(1, 200, 200)
		require.Equal(t, b.Now(), endpoint().FailingSince)
		again := begun[0]
		end(0, 410)
		require.Equal(t, b.Now(), endpoint().Disabled)
		_, waiting, err := b.Deliveries.List(t.Context(), queue, webhook.Waiting, base.Page{Limit: 1})
		require.NoError(t, err)
		require.Zero(t, waiting)
		begun = []webhooks.Sending{again}
		end(1, 200)
	})
}

// The status 410 Gone disables the endpoint until it is subscribed again: deliveries that
// wait fail, and new events are not sent to it.
func TestDeliveries_GoneDisables(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		queue := b.subscribe(t, hook)
		for range 10 {
			require.NoError(t, second(b.Webhooks.Test(t.Context(), b.tenant, hook)))
		}
		begun := b.begin(t)
		b.end(t, 410, begun[0])
		states := func() map[webhook.State]int {
			page, _, err := b.Deliveries.List(t.Context(), queue, "", base.Page{Limit: 100})
			require.NoError(t, err)
			count := map[webhook.State]int{}
			for _, d := range page {
				count[d.State]++
			}
			return count
		}
		require.Equal(t, map[webhook.State]int{webhook.Failed: 3, webhook.Sending: 7}, states())
		b.end(t, 200, begun[1:]...)
		b.identify(t, "ben")
		require.Equal(t, map[webhook.State]int{webhook.Failed: 3, webhook.Delivered: 7}, states())
		all, err := b.Webhooks.List(t.Context(), b.tenant)
		require.NoError(t, err)
		require.Equal(t, b.Now(), all[0].Disabled)

		again, err := b.Webhooks.Subscribe(t.Context(), b.tenant, webhook.Request{Endpoint: hook})
		require.NoError(t, err)
		require.Zero(t, again.Disabled)
		n, err := b.Deliveries.ReplayFailed(t.Context(), queue, start)
		require.NoError(t, err)
		require.Equal(t, 3, n)
		b.identify(t, "cleo")
		require.NotZero(t, states()[webhook.Waiting]-3)
	})
}

func TestReplay_OneEvent(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		queue := withTestEvent(t, b)
		first := b.begin(t)[0]
		require.NoError(t, b.Deliveries.Replay(t.Context(), first.DeliveryKey))
		require.Empty(t, b.begin(t), "an attempt is running")
		b.end(t, 200, first)
		require.NoError(t, b.Deliveries.Replay(t.Context(), first.DeliveryKey))
		second := b.begin(t)
		require.Len(t, second, 1)
		require.Equal(t, first.Body, second[0].Body)
		require.Equal(t, first.Event, second[0].Event)
		require.Equal(t, [2]int{2, 1}, [2]int{second[0].Number, second[0].Tries}, "the schedule begins again, but the numbers of attempts continue")
		b.end(t, 500, second...)
		n, err := b.Deliveries.ReplayFailed(t.Context(), queue, 0)
		require.NoError(t, err)
		require.Equal(t, 1, n, "its last attempt failed")
		again := b.begin(t)
		require.Len(t, again, 1)
		b.end(t, 500, again...)
		require.NoError(t, b.Deliveries.Replay(t.Context(), first.DeliveryKey), "a delivery that waits is sent at once")
		require.Len(t, b.begin(t), 1)
		require.Len(t, b.delivery(t, queue).Attempts, 3)
		unknown := first.DeliveryKey
		unknown.Event = "019ca8a03e806096185df3df"
		require.Equal(t, core.NotFound("this event was not sent to this endpoint within the last 30 days"), b.Deliveries.Replay(t.Context(), unknown))
	})
}

func TestReplayFailed_Since(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		queue := b.subscribe(t, hook)
		for range 4 {
			require.NoError(t, second(b.Webhooks.Test(t.Context(), b.tenant, hook)))
			b.pass(core.Hour)
		}
		for range webhook.MaxTries {
			for i, s := range b.begin(t) {
				// The last event is delivered; all attempts of the others fail.
				b.end(t, map[bool]int{true: 200, false: 500}[i == 3], s)
			}
			b.pass(2 * core.Day)
			for range 4 { // a failing endpoint gets one at a time
				b.end(t, 500, b.begin(t)...)
			}
		}
		for since, want := range map[core.Time]int{start + 3*core.Hour: 0, start + 2*core.Hour: 1, start + 2*core.Hour + 1: 0} {
			n, err := b.Deliveries.ReplayFailed(t.Context(), queue, since)
			require.NoError(t, err)
			require.Equal(t, want, n, since-start)
		}
		n, err := b.Deliveries.ReplayFailed(t.Context(), queue, 0)
		require.NoError(t, err)
		require.Equal(t, 2, n, "one that was replayed before waits")
	})
}

// For a day, events are signed by both secrets, then only by the new one.
func TestRotateSecret(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		first, err := b.Webhooks.Subscribe(t.Context(), b.tenant, webhook.Request{Endpoint: hook})
		require.NoError(t, err)
		renewed, err := b.Webhooks.RotateSecret(t.Context(), b.tenant, hook)
		require.NoError(t, err)
		require.NotEqual(t, first.Secret, renewed.Secret)
		secrets := func() []string {
			require.NoError(t, second(b.Webhooks.Test(t.Context(), b.tenant, hook)))
			begun := b.begin(t)
			require.Len(t, begun, 1)
			b.end(t, 200, begun...)
			return begun[0].Secrets
		}
		require.Equal(t, []string{renewed.Secret, first.Secret}, secrets())
		b.pass(webhook.SecretOverlap - 1)
		require.Equal(t, []string{renewed.Secret, first.Secret}, secrets())
		b.pass(1)
		require.Equal(t, []string{renewed.Secret}, secrets())
		third, err := b.Webhooks.RotateSecret(t.Context(), b.tenant, hook)
		require.NoError(t, err)
		fourth, err := b.Webhooks.RotateSecret(t.Context(), b.tenant, hook)
		require.NoError(t, err)
		require.Equal(t, []string{fourth.Secret, third.Secret}, secrets(), "two at most")
	})
}

// The database has no secret in plain text.
func TestSecrets_AreSealed(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	s, err := b.Webhooks.Subscribe(t.Context(), b.tenant, webhook.Request{Endpoint: hook})
	require.NoError(t, err)
	require.NoError(t, b.SigningKeys.Ensure(t.Context()))
	require.NoError(t, second(b.Webhooks.Test(t.Context(), b.tenant, hook)))
	key, known, err := webhookdb.SigningKey(t.Context(), b.DB.Reads)
	require.NoError(t, err)
	require.True(t, known)
	plain, err := b.Keys.Open(base.SigningKeyPlace(key.ID), key.Sealed)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(plain, "MII"), "the beginning of PKCS #8 in base64")
	require.NotContains(t, key.Sealed, plain[:20])
	require.Equal(t, []string{s.Secret}, b.begin(t)[0].Secrets)

	// An attempt whose secrets are sealed under another master key fails alone.
	b.stopped(t, b.Engine)
	b.Keys = keyring(t, "b")
	begun := b.begin(t)
	require.Equal(t, "the secrets of this endpoint cannot be opened", begun[0].Fault)
}

func TestDeliveries_AreForgotten(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		queue := b.subscribe(t, hook)
		for range 3 {
			require.NoError(t, second(b.Webhooks.Test(t.Context(), b.tenant, hook)))
		}
		begun := b.begin(t)
		b.end(t, 200, begun[0])
		b.end(t, 410, begun[1])
		left := func() int {
			_, err := b.Deliveries.Forget(t.Context())
			require.NoError(t, err)
			_, total, err := b.Deliveries.List(t.Context(), queue, "", base.Page{})
			require.NoError(t, err)
			return total
		}
		b.pass(webhook.Kept)
		require.Equal(t, 3, left(), "30 days later")
		b.pass(1)
		require.Equal(t, 1, left(), "deliveries that have not ended stay")
		b.stopped(t, b.Engine)
		last := b.begin(t)
		require.Len(t, last, 1)
		b.end(t, 200, last...)
		require.Equal(t, 1, left())
		b.pass(webhook.Kept + 1)
		require.Zero(t, left())
	})
}

func TestAllowAddresses(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	prefix := func(text string) []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix(text)} }
	err := b.Deliveries.AllowAddresses(t.Context(), b.tenant, prefix("127.0.0.1/32"), false)
	require.Equal(t, &core.Error{
		Code: core.CodeForbidden, Field: "tenant", Message: "only a test tenant's events may be sent to addresses that are not public",
	}, err)
	test := core.TenantAlias(base.TestPrefix + "t")
	require.NoError(t, b.Tenants.Create(t.Context(), aTenant(test, "TEST_key")))
	require.NoError(t, b.Deliveries.AllowAddresses(t.Context(), test, prefix("127.9.9.9/8"), false))
	require.NoError(t, b.Deliveries.AllowAddresses(t.Context(), test, prefix("::1/128"), false))
	_, err = b.Webhooks.Subscribe(t.Context(), test, webhook.Request{Endpoint: "http://127.0.0.1/"})
	require.NoError(t, err)
	b.subscribe(t, hook)
	for tenant, url := range map[core.TenantAlias]string{test: "http://127.0.0.1/", b.tenant: hook} {
		require.NoError(t, second(b.Webhooks.Test(t.Context(), tenant, url)))
	}
	begun, err := b.Deliveries.Begin(t.Context(), someSlots, webhook.Busy{})
	require.NoError(t, err)
	require.Len(t, begun, 2)
	for _, s := range slices.Concat(begun...) {
		require.Equal(t, s.Tenant == test, strings.Contains(string(s.Body), `"live":false`))
		if s.Tenant == test {
			require.Equal(t, []string{"127.0.0.0/8", "::1/128"}, s.Allowed)
		} else {
			require.Empty(t, s.Allowed)
		}
	}
	require.NoError(t, b.Deliveries.AllowAddresses(t.Context(), test, prefix("127.0.0.0/8"), true))
	all, err := b.Deliveries.AllowedAddresses(t.Context(), test)
	require.NoError(t, err)
	require.Equal(t, []string{"::1/128"}, all)
	many := make([]netip.Prefix, webhooks.MaxAllowed)
	for i := range many {
		many[i] = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 32)
	}
	require.Error(t, b.Deliveries.AllowAddresses(t.Context(), test, many, false), "one too many")
}

// The events of a tenant have increasing numbers, also after all of them were forgotten.
// Other tenants do not count.
func TestDeliveries_SequenceOrdersTheEvents(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		b.subscribe(t, hook)
		other := bundleOn(t, b.DB)
		other.subscribe(t, hook)
		defer func() { require.NoError(t, other.Webhooks.Unsubscribe(t.Context(), other.tenant, hook)) }()
		sequences := func() (got []int64) {
			for range 3 {
				require.NoError(t, second(b.Webhooks.Test(t.Context(), b.tenant, hook)))
				require.NoError(t, second(other.Webhooks.Test(t.Context(), other.tenant, hook)))
			}
			begun := b.begin(t)
			for _, s := range begun {
				var body struct {
					Subject  string
					Sequence int64
				}
				require.NoError(t, json.Unmarshal(s.Body, &body))
				require.Equal(t, "test", body.Subject)
				got = append(got, body.Sequence)
			}
			b.end(t, 200, begun...)
			return got
		}
		require.ElementsMatch(t, []int64{1, 2, 3}, sequences())
		b.pass(webhook.Kept + 1)
		require.NoError(t, second(b.Deliveries.Forget(t.Context())))
		require.ElementsMatch(t, []int64{4, 5, 6}, sequences())
		// One transaction stores the events of a call.
		b.identify(t, "carl", claim(referral.SourceInit, "ANNA10"), paid)
		type event struct {
			Type, Subject string
			Sequence      int64
		}
		last := map[string]event{}
		begun := b.begin(t)
		for _, s := range begun {
			var e event
			require.NoError(t, json.Unmarshal(s.Body, &e))
			require.Greater(t, e.Sequence, int64(6))
			if before, ok := last[e.Subject]; !ok || e.Sequence > before.Sequence {
				last[e.Subject] = e
			}
		}
		converted := 0
		for subject, e := range last {
			if strings.HasPrefix(subject, "referral/") {
				require.Equal(t, "referral.converted", e.Type, "the last event about it")
				converted++
			}
		}
		require.Equal(t, 1, converted)
		b.end(t, 200, begun...)
	})
}
