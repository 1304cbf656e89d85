package main

import (
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
	"kith/backend/braintreelab"
	"kith/backend/store/sqldtest"
)

// The workers give the same results on a libSQL server as on a file, and count them.
func TestGateway_OnAServer(t *testing.T) {
	t.Parallel()
	flags := databaseFlags{DatabaseURL: sqldtest.Start(t).PrimaryURL(), MasterKey: storyKey}
	s, err := &gatewayStage{}, error(nil)
	s.engine, err = flags.openOrCreate(&env{ctx: t.Context(), log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s.db = openSQL(t, flags.DatabaseURL)
	var mu sync.Mutex
	done := map[string]int64{}
	s.engine.Now = s.clock.now
	s.engine.OnWork = func(work, kind, outcome string, n int64) {
		mu.Lock()
		defer mu.Unlock()
		done[strings.Join([]string{work, kind, outcome}, " ")] += n
	}
	s.start(t, braintreelab.Options{})
	text, err := os.ReadFile("testdata/gateway/dispute-won.txt")
	require.NoError(t, err)
	require.NoError(t, s.player().Play(t.Context(), string(text)+`
		mode drop
		customer eve
		register eve code=ANNA10
		coupon eve ANNA10
		subscribe eve pro e1 trial=7d
		later 10m
		subscription e1 discount=svc_discount:5.00
	`))
	mu.Lock()
	defer mu.Unlock()
	for what, n := range map[string]int64{
		base.WorkNotification + " subscription_charged_successfully done": 1, base.WorkNotification + " dispute_won done": 1,
		"gateway refund done": 1, "gateway coupon done": 1,
	} {
		require.Equal(t, n, done[what], "%s: %v", what, done)
	}
	// The numbers vary: a sweep may find a change before its notification arrives.
	for _, what := range []string{"subscription", "sweep", "found"} {
		require.NotZero(t, done["gateway "+what+" done"], "%s: %v", what, done)
	}
}
