package braintreelab_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/braintreelab/scenario"
)

// Each scenario in testdata/scenario passes, on a lab and with an inbox of its own.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scenario/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			b, in := newLab(t), newInbox(t, labKey)
			player := scenario.New(b.url)
			in.verbs(player, b)
			if strings.Contains(string(text), "\nsend") {
				b.must(t, "webhook", "url", in.url)
			}
			require.NoError(t, player.Play(t.Context(), string(text)))
			require.Empty(t, in.kinds(), "the scenario mentions all notifications that arrived")
		})
	}
}

// verbs adds the verbs about the service.
func (in *inbox) verbs(player *scenario.Player, b bundle) {
	player.Add("arrived", in.arrived)
	// answer STATUS: the service answers the next notification with this status.
	player.Add("answer", func(_ context.Context, s scenario.Step) error {
		status, err := strconv.Atoi(s.Word(0))
		in.mu.Lock()
		defer in.mu.Unlock()
		in.answers = append(in.answers, status)
		return err
	})
	// trust both: the service knows all keys of the merchant.
	player.Add("trust", func(context.Context, scenario.Step) error {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.keys = slices.Insert(in.keys, 0, keyNamed(b.State().Keys[1]))
		return nil
	})
}

// arrived KIND [SUBSCRIPTION] [status=]: the next notification that arrived at the
// service, verified and parsed.
func (in *inbox) arrived(_ context.Context, s scenario.Step) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.got) == 0 {
		return fmt.Errorf("no further notification arrived")
	}
	n := in.got[0]
	in.got = in.got[1:]
	got := strings.TrimPrefix(string(n.Kind), "subscription_")
	if n.Subscription != nil {
		got += " " + n.Subscription.ID
		if want := s.Named["status"]; want != "" && want != string(n.Subscription.Status) {
			return fmt.Errorf("its status is %s", n.Subscription.Status)
		}
	}
	if got != strings.Join(s.Words, " ") {
		return fmt.Errorf("%s arrived", got)
	}
	return nil
}

// A false scenario fails with the line, and an incomplete one with the events that it
// does not mention.
func TestScenario_Fails(t *testing.T) {
	t.Parallel()
	const begin = "customer bob\nsubscribe bob pro s1\n"
	for text, want := range map[string]string{
		"fly":                                     "line 1: fly: unknown verb",
		"# note\n\ncustomer \"bob":                "line 3: a quote is not closed",
		"subscribe bob pro s1":                    "no customer bob",
		begin + "charged s1 45.00":                `line 3: charged s1 45.00: the amount is "50.00"`,
		begin + "charged s1 50.00 settled":        `the status is "submitted_for_settlement"`,
		begin + "charged s1 50.00 discount=x:1":   `the discount is "none"`,
		begin + "notified canceled s1":            `the notification is "charged_successfully s1"`,
		begin:                                     "does not mention:\nnotified charged_successfully s1\nnotified went_active s1\ncharged s1 50.00 submitted_for_settlement",
		begin + "subscription s1 status=Expired":  `the status is "Active"`,
		begin + "subscription s1 colour=red":      "unknown value colour",
		begin + "subscription s1":                 "no values to check",
		begin + "subscription s2 status=Active":   "no subscription s2",
		begin + "transaction s1#2 status=x":       "no charge s1#2: s1 has 1",
		begin + "refunded s1 5.00":                "no further refund",
		begin + "refused 81905 cancel s1":         "the step was not refused",
		begin + "refused 81905 change s1 price=x": "refused with 81904",
		begin + "refused 1":                       "the step that is refused is missing",
		"advance x":                               "is not a time to advance by",
		"notified check":                          "no further notification",
		"cancel s9":                               "refused with 404",
	} {
		err := scenario.New(newLab(t).url).Play(t.Context(), text)
		require.ErrorContains(t, err, want, text)
	}
}
