package worker

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A worker with much work lets those after it begin.
func TestBegin_WorkDelaysNoOthers(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	began := make(chan string, 100)
	log := slog.New(slog.DiscardHandler)
	busy := newWorker("busy", time.Hour, log, func(context.Context) error {
		began <- "busy"
		<-ctx.Done()
		return nil
	})
	idle := func(name string) *Worker {
		return newWorker(name, time.Hour, log, func(context.Context) error { began <- name; return nil })
	}
	Begin(ctx, &group, busy, idle("second"), idle("third"))
	require.ElementsMatch(t, []string{"busy", "second", "third"}, []string{<-began, <-began, <-began})
}
