package worker

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"kith/backend/app"
	"kith/backend/sender"
	"kith/core/webhook"
)

// webhookPoll is how soon an event is seen; nobody wakes the worker, as an event
// is only there once its transaction has committed.
const webhookPoll = 200 * time.Millisecond

// webhookSlots are the attempts that one process makes at once.
var webhookSlots = webhook.Slots{All: 64, Line: 8}

// NewWebhooks returns the worker that sends events to the endpoints of tenants.
// Several may run on one database: each attempt is leased to one of them.
//
// Attempts for an endpoint begin in the order in which its events happened, but
// several are under way at once, and a failed one is made again later; so
// consumers must not rely on the order of arrival.
func NewWebhooks(e *app.Engine, s *sender.Sender, log *slog.Logger) *Worker {
	h := &webhooks{engine: e, sender: s, log: log, busy: webhook.Busy{Lines: map[webhook.Line]int{}}}
	// Attempts outlive the context of the worker: a stop lets them end.
	h.attempts, h.abandon = context.WithCancel(context.Background())
	h.worker = newWorker("webhook", webhookPoll, log, h.drain)
	h.worker.last = h.last
	return h.worker
}

type webhooks struct {
	engine *app.Engine
	sender *sender.Sender
	log    *slog.Logger
	worker *Worker
	// key is the one that signed last.
	key app.SigningKey
	// attempts is done when the attempts that are under way are given up.
	attempts context.Context
	abandon  context.CancelFunc
	running  sync.WaitGroup

	mu   sync.Mutex
	busy webhook.Busy
	// made are attempts that have not been recorded yet. They keep their slots,
	// so that they are few however long the database is away.
	made []app.Sent
}

// drain records what was sent and begins what is due, until all slots are taken
// or nothing is due. It does not wait for an answer: each attempt wakes the
// worker when it ends, so that a slow endpoint holds up only its own.
func (h *webhooks) drain(ctx context.Context) error {
	for {
		if err := h.record(ctx); err != nil {
			return err
		}
		if n, err := h.begin(ctx); n == 0 || err != nil {
			return err
		}
	}
}

// begin begins attempts and returns how many.
func (h *webhooks) begin(ctx context.Context) (int, error) {
	h.mu.Lock()
	busy := h.busy
	busy.Lines = maps.Clone(busy.Lines)
	h.mu.Unlock()
	if busy.Well+busy.Failing >= webhookSlots.All {
		return 0, nil
	}
	// Looking first spares an idle database a write lock at every tick.
	due, err := h.engine.DeliveriesDue(ctx)
	if err != nil || !due {
		return 0, err
	}
	key, err := h.engine.SigningKey(ctx, h.key)
	if err != nil {
		return 0, err
	}
	h.key = key
	begun, err := h.engine.BeginDeliveries(ctx, webhookSlots, busy)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range begun {
		h.take(s, 1)
		h.running.Go(func() { h.attempt(s, key) })
	}
	return len(begun), err
}

// take counts the slot of an attempt in, or out.
func (h *webhooks) take(s app.Sending, n int) {
	line := webhook.Line{Tenant: s.Tenant, Endpoint: s.Endpoint}
	if h.busy.Lines[line] += n; h.busy.Lines[line] == 0 {
		delete(h.busy.Lines, line)
	}
	if s.Failing {
		h.busy.Failing += n
	} else {
		h.busy.Well += n
	}
}

func (h *webhooks) attempt(s app.Sending, key app.SigningKey) {
	made := app.Sent{Sending: s, Attempt: h.sender.Send(h.attempts, s, key)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.attempts.Err() == nil {
		h.made = append(h.made, made)
	}
	h.worker.Wake()
}

// record records the attempts that were made.
func (h *webhooks) record(ctx context.Context) error {
	h.mu.Lock()
	made := h.made
	h.made = nil
	h.mu.Unlock()
	if len(made) == 0 {
		return nil
	}
	late, err := h.engine.EndDeliveries(ctx, made)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.made = append(made, h.made...)
		return err
	}
	for _, s := range made {
		h.take(s.Sending, -1)
		h.tell(s)
	}
	if late > 0 {
		h.log.Warn("webhook attempts outlived their lease; others have made them again", "attempts", late)
	}
	return nil
}

func (h *webhooks) tell(s app.Sent) {
	log := h.log.Debug
	if s.Fault != "" {
		log = h.log.Error
	}
	log("webhook sent", "tenant", s.Tenant, "event", s.Event, "attempt", s.Number, "status", s.Attempt.Status,
		"error", s.Attempt.Error, "ms", s.Attempt.Duration)
}

// last lets the attempts that are under way end, gives up those that do not by
// the time that ctx is done, and records the others. What was given up is leased
// for a while, and then made again by whoever is there.
func (h *webhooks) last(ctx context.Context) error {
	ended := make(chan struct{})
	go func() { h.running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	h.abandon()
	<-ended
	// ctx may be over, and what was sent should not be sent again for that.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.worker.Finish)
	defer cancel()
	return h.record(ctx)
}
