package braintreelab_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/braintreelab"
	"kith/backend/gateway/braintree"
)

// play runs a command of each kind that changes the state.
func play(t *testing.T, b bundle) {
	t.Helper()
	b.must(t, "settings", "prorate", "true", "retry_days", "1 3")
	b.must(t, "modifications", "kind", "discount", "id", "summer", "amount", "3.00")
	b.subscribe(t, "anna", "s1", "pro", "discount", "5.00")
	b.must(t, "subscriptions", "customer", "anna", "plan", "yen")
	b.must(t, "advance", "by", "10d")
	gw := b.client(t)
	_, err := gw.AddDiscount(t.Context(), "s1", "loyalty", "1.50", braintree.Duration{})
	require.NoError(t, err)
	_, err = gw.Refund(t.Context(), b.State().Transactions[0].ID, refund)
	require.NoError(t, err)
	b.must(t, "dispute", "transaction", b.State().Transactions[0].ID, "status", "open")
	b.must(t, "decline", "customer", "anna", "on", "true")
	b.must(t, "advance", "by", "25d")
	b.must(t, "keys", "change", "add")
	b.must(t, "cancel", "subscription", "s1")
	require.NotEmpty(t, b.control(t, "cancel", "subscription", "s1"), "refused commands are recorded too")
}

// books returns the state that survives a restart of the lab.
func books(l bundle) braintreelab.State {
	s := l.State()
	s.Calls, s.Webhook = nil, ""
	return s
}

func withJournal(path string) func(*braintreelab.Options) {
	return func(o *braintreelab.Options) { o.Journal = path }
}

// The same commands at the same times give the same state.
func TestJournal_RestoresTheState(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lab.journal")
	first := newLab(t, withJournal(path))
	play(t, first)
	want := books(first)
	require.NoError(t, first.Close())
	second := newLab(t, withJournal(path))
	require.Equal(t, want, books(second))
	again, err := second.client(t, func(c *braintree.Config) { c.Key = keyNamed(want.Keys[1]) }).Refund(t.Context(), want.Transactions[0].ID, refund)
	require.NoError(t, err, "at-most-once keys and API keys are restored")
	require.Equal(t, again.ID, second.refunds()[0].ID)
	require.Len(t, second.refunds(), 1)
	second.must(t, "advance", "by", "1d")
	want = books(second)
	require.NoError(t, second.Close())
	require.Equal(t, want, books(newLab(t, withJournal(path))), "commands after the first restart are recorded too")
}

func TestJournal_Refuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"not JSON":               "hello\n",
		"an unknown call":        `{"start":"2026-01-01T10:00:00Z","at":"2026-01-01T10:00:00Z"}` + "\n" + `{"at":"2026-01-01T10:00:00Z","call":"POST /lab/fly","body":"<request/>"}` + "\n",
		"a body that is not XML": `{"start":"2026-01-01T10:00:00Z","at":"2026-01-01T10:00:00Z"}` + "\n" + `{"at":"2026-01-01T10:00:00Z","call":"POST /lab/check","body":"<"}` + "\n",
	} {
		path := filepath.Join(t.TempDir(), "lab.journal")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := braintreelab.New(braintreelab.Options{Journal: path, Now: func() time.Time { return start }})
		require.ErrorContains(t, err, "gatewaylab: journal: ", name)
	}
	_, err := braintreelab.New(braintreelab.Options{Journal: t.TempDir()})
	require.Error(t, err, "a folder")
}

// Notifications from before a restart are not sent after it.
func TestJournal_NothingIsSentTwice(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lab.journal")
	first := newLab(t, withJournal(path))
	first.subscribe(t, "anna", "s1", "pro")
	require.NoError(t, first.Close())
	second, in := newLab(t, withJournal(path)), newInbox(t, labKey)
	second.must(t, "webhook", "url", in.url)
	second.Flush(t.Context())
	require.Empty(t, in.kinds())
	second.must(t, "check")
	second.Flush(t.Context())
	require.Equal(t, []string{"check"}, in.kinds())
}
