package app_test

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"kith/backend/app/base"
	"kith/backend/app/webhooks"
	"kith/core"
	"kith/core/job"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/rules"
	"kith/core/webhook"
	"kith/core/wire"
)

const hook = "https://shop.example/hook"

func (b bundle) subscribe(t testing.TB, url string) webhook.Queue {
	t.Helper()
	_, err := b.Webhooks.Subscribe(t.Context(), b.tenant, webhook.Request{Endpoint: url})
	require.NoError(t, err)
	return webhook.Queue{Tenant: b.tenant, Endpoint: webhook.Endpoint(url)}
}

// sent returns the types of the events for an endpoint, the oldest first.
func (b bundle) sent(t testing.TB, queue webhook.Queue) (types []webhook.Type) {
	t.Helper()
	page, total, err := b.Deliveries.List(t.Context(), queue, "", base.Page{Limit: 1000})
	require.NoError(t, err)
	require.Len(t, page, total)
	for _, d := range page {
		types = append([]webhook.Type{d.Type}, types...)
	}
	return types
}

func TestSubscribe_OneURLIsOneSubscription(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		first, err := b.Webhooks.Subscribe(t.Context(), b.tenant, webhook.Request{Endpoint: hook, Name: "Shop"})
		require.NoError(t, err)
		require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=$`, first.Secret)
		b.pass(core.Hour)
		for _, name := range []string{"", "The shop", ""} {
			want := webhook.Subscription{Endpoint: hook, Name: cmp.Or(name, first.Name), Created: start}
			again, err := b.Webhooks.Subscribe(t.Context(), b.tenant, webhook.Request{Endpoint: hook, Name: name})
			require.NoError(t, err)
			require.Equal(t, want, again)
			first.Name = want.Name
		}
	})
}

func TestSubscribe_AtMost20(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for i := range webhook.MaxSubscriptions {
		b.subscribe(t, hook+strconv.Itoa(i))
	}
	_, err := b.Webhooks.Subscribe(t.Context(), b.tenant, webhook.Request{Endpoint: hook})
	require.Equal(t, core.Invalid("endpointUrl", "a tenant has at most 20 subscriptions; delete one first"), err)
	all, err := b.Webhooks.List(t.Context(), b.tenant)
	require.NoError(t, err)
	require.Len(t, all, webhook.MaxSubscriptions)
	b.subscribe(t, hook+"0") // subscribed already
}

// An endpoint that is subscribed to some types gets no others, by either way in which
// events are stored, and a test event in any case.
func TestSubscribe_SomeTypes(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.subscribe(t, hook)
		_, err := b.Webhooks.Subscribe(t.Context(), b.tenant, webhook.Request{Endpoint: hook + "2", Types: []webhook.Type{webhook.CouponCreated, webhook.ExportCreated}})
		require.NoError(t, err)
		b.identify(t, "friend")
		_, err = b.Jobs.Create(t.Context(), b.tenant, job.Input{Type: job.User, Format: job.CSV, Params: "{}"})
		require.NoError(t, err)
		some := webhook.Queue{Tenant: b.tenant, Endpoint: hook + "2"}
		require.Subset(t, b.sent(t, webhook.Queue{Tenant: b.tenant, Endpoint: hook}), []webhook.Type{webhook.UserCreated, webhook.CouponCreated, webhook.ExportCreated})
		require.Equal(t, []webhook.Type{webhook.CouponCreated, webhook.ExportCreated}, sorted(b.sent(t, some)))
		require.NoError(t, second(b.Webhooks.Test(t.Context(), b.tenant, hook+"2")))
		require.Len(t, b.sent(t, some), 3)
	})
}

// sorted returns types in the order of webhook.Types.
func sorted(types []webhook.Type) []webhook.Type {
	return slices.SortedFunc(slices.Values(types), func(a, b webhook.Type) int {
		return cmp.Compare(slices.Index(webhook.Types(), a), slices.Index(webhook.Types(), b))
	})
}

// A new endpoint takes the place of one that answered 410.
func TestSubscribe_DisabledEndpointsMakeRoom(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for i := range webhook.MaxSubscriptions {
		b.subscribe(t, hook+strconv.Itoa(i))
	}
	for _, gone := range []string{"7", "3"} {
		require.NoError(t, second(b.Webhooks.Test(t.Context(), b.tenant, hook+gone)))
		begun, err := b.Deliveries.Begin(t.Context(), someSlots, webhook.Busy{})
		require.NoError(t, err)
		require.Len(t, begun, 1)
		_, err = b.Deliveries.End(t.Context(), []webhooks.Sent{{Sending: begun[0][0], Attempt: webhook.Attempt{Number: 1, Started: b.Engine.Now(), Status: 410}}})
		require.NoError(t, err)
		b.pass(core.Second)
	}
	urls := func() (urls []string) {
		all, err := b.Webhooks.List(t.Context(), b.tenant)
		require.NoError(t, err)
		require.Len(t, all, webhook.MaxSubscriptions)
		for _, s := range all {
			urls = append(urls, string(s.Endpoint))
		}
		return urls
	}
	b.subscribe(t, hook+"new")
	require.NotContains(t, urls(), hook+"7", "it was disabled first")
	b.subscribe(t, hook+"newer")
	require.NotContains(t, urls(), hook+"3")
	_, err := b.Webhooks.Subscribe(t.Context(), b.tenant, webhook.Request{Endpoint: hook + "newest"})
	require.ErrorContains(t, err, "delete one first")
}

// Each type has a sample, with the keys of an event.
func TestSamples_EachTypeHasOne(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	samples := b.Webhooks.Samples(b.tenant, link.Share{Origin: "https://go.example", Tenant: b.tenant}, webhook.Types()...)
	require.Len(t, samples, len(webhook.Types()))
	for _, s := range samples {
		require.True(t, gjson.Valid(s.Data), s.Type)
		require.True(t, gjson.ValidBytes(wire.Webhook(s)), s.Type)
		require.NotEmpty(t, gjson.Parse(s.Data).Map(), s.Type)
	}
}

// An event goes to each endpoint that is subscribed when it happens.
func TestEmit_ReachesCurrentSubscriptions(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		one, two := b.subscribe(t, hook), b.subscribe(t, hook+"2")
		b.identify(t, "ben")
		require.Contains(t, b.sent(t, one), webhook.UserCreated)
		require.ElementsMatch(t, b.sent(t, one), b.sent(t, two))
		late := b.subscribe(t, hook+"3")
		require.Empty(t, b.sent(t, late), "an event before the subscription")
		require.NoError(t, b.Webhooks.Unsubscribe(t.Context(), b.tenant, hook+"2"))
		b.subscribe(t, hook+"2")
		require.Empty(t, b.sent(t, two), "deliveries of the former subscription are deleted")
	})
}

// An event is stored together with the change that it reports, or not at all.
func TestEmit_RolledBackWithItsChange(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		queue := b.subscribe(t, hook)
		// The code belongs to Anna: the call fails after the user was stored.
		_, err := b.Identification.Identify(t.Context(), b.tenant, identification("ben", func(in *rules.Identification) {
			in.Update.Codes = []referral.UserCode{{Program: core.ClassicProgram, Code: "BEN1"}, {Program: core.ClassicProgram, Code: "ANNA10"}}
		}))
		require.Error(t, err)
		require.Empty(t, b.sent(t, queue))
		b.identify(t, "ben")
		require.NotEmpty(t, b.sent(t, queue))
	})
}

// A new user is reported once, and so is each new code.
func TestEmit_UserAndCodes(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	queue := b.subscribe(t, hook)
	last, mail := "Öz", "ben@example.com"
	named := func(in *rules.Identification) {
		in.Update.LastName, in.Update.Email = &last, &mail
		in.Update.Codes = []referral.UserCode{{Program: core.ClassicProgram, Code: "BEN1"}}
	}
	b.identify(t, "ben", named)
	b.identify(t, "ben", named)
	b.identify(t, "ben", func(in *rules.Identification) {
		in.Update.Codes = []referral.UserCode{{Program: core.ClassicProgram, Code: "BEN2"}}
	})
	// The ids of one millisecond are in no order, but attempts are.
	require.ElementsMatch(t, []webhook.Type{webhook.CouponCreated, webhook.UserCreated, webhook.CouponCreated}, b.sent(t, queue))
	begun := b.begin(t)
	data := func(i int) string {
		_, data, found := strings.Cut(string(begun[i].Body), `"data":`)
		require.True(t, found)
		return data
	}
	for i, code := range map[int]string{0: "BEN1", 2: "BEN2"} {
		require.JSONEq(t, `{"code":"`+code+`","dateCreated":`+strconv.FormatInt(int64(start), 10)+`,"programId":"classic"}`, strings.TrimSuffix(data(i), "}"))
	}
	for _, has := range []string{`"id":"u","accountId":"ben",`, `"lastName":"Öz"`, `"lastInitial":"Ö"}`, `"referralCodes":{"classic":"BEN1"}`, `"shareLinks":`} {
		require.Contains(t, data(1), has)
	}
}

func TestTestSubscription_GoesToOneEndpoint(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	one, two := b.subscribe(t, hook), b.subscribe(t, hook+"2")
	require.NoError(t, second(b.Webhooks.Test(t.Context(), b.tenant, hook)))
	require.Equal(t, []webhook.Type{webhook.Test}, b.sent(t, one))
	require.Empty(t, b.sent(t, two))
}

func TestSubscriptions_AreSeparatePerTenant(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	other := bundleOn(t, b.DB)
	queue := b.subscribe(t, hook)
	b.identify(t, "ben")
	require.NotEmpty(t, b.sent(t, queue))
	all, err := other.Webhooks.List(t.Context(), other.tenant)
	require.NoError(t, err)
	require.Empty(t, all)
	for what, err := range map[string]error{
		"unsubscribe": other.Webhooks.Unsubscribe(t.Context(), other.tenant, hook),
		"test":        second(other.Webhooks.Test(t.Context(), other.tenant, hook)),
		"secret":      second(other.Webhooks.RotateSecret(t.Context(), other.tenant, hook)),
		"replay":      second(other.Deliveries.ReplayFailed(t.Context(), webhook.Queue{Tenant: other.tenant, Endpoint: hook}, 0)),
	} {
		var e *core.Error
		require.True(t, errors.As(err, &e) && e.Code == core.CodeNotFound, what)
	}
}

func second[T any](_ T, err error) error { return err }

func TestSigningKey_ConcurrentStartsUseOneKey(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		failed := make(chan error, 4)
		for range 4 {
			go func() { failed <- b.SigningKeys.Ensure(t.Context()) }()
		}
		for range 4 {
			require.NoError(t, <-failed)
		}
		keys, err := b.SigningKeys.Public(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, keys)
		require.Len(t, strings.TrimSpace(keys[0].Modulus), 342, "2048 bits in base64url")
	})
}

// A replaced key stays published for a week. At most five keys are published.
func TestSigningKey_Rotation(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	require.NoError(t, b.SigningKeys.Ensure(t.Context()))
	ids := func() (ids []string) {
		keys, err := b.SigningKeys.Public(t.Context())
		require.NoError(t, err)
		for _, k := range keys {
			ids = append(ids, k.ID)
		}
		return ids
	}
	want := ids()
	require.Len(t, want, 1)
	for range 6 {
		b.pass(core.Second)
		id, err := b.SigningKeys.Rotate(t.Context())
		require.NoError(t, err)
		want = append([]string{id}, want...)
		want = want[:min(len(want), webhook.MaxKeys)]
		require.Equal(t, want, ids())
	}
	b.pass(webhook.KeyPublished - 1)
	require.Equal(t, want[:2], ids(), "the current key, and the key that was replaced 1 ms less than a week ago")
	b.pass(1)
	require.Equal(t, want[:1], ids())
}

// A process whose master key does not open the signing key reports that at its start.
func TestSigningKey_OfAnotherMasterKey(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	require.NoError(t, b.SigningKeys.Ensure(t.Context()))
	require.NoError(t, b.SigningKeys.Ensure(t.Context()))
	b.Keys = keyring(t, "b")
	require.ErrorContains(t, b.SigningKeys.Ensure(t.Context()), "sealed under another master key")
}
