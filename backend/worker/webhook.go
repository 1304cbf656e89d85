package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"kith/backend/app/webhooks"
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
func NewWebhooks(d *webhooks.Deliveries, keys *webhooks.SigningKeys, s *sender.Sender, log *slog.Logger) *Worker {
	h := &webhookWorker{deliveries: d, keys: keys, sender: s, log: log}
	h.worker = newWorker("webhook", webhookPoll, log, h.drain)
	h.attempts = newPool[webhookSlot](h.worker.Wake)
	h.worker.last = h.last
	return h.worker
}

type webhookWorker struct {
	deliveries *webhooks.Deliveries
	keys       *webhooks.SigningKeys
	sender     *sender.Sender
	log        *slog.Logger
	worker     *Worker
	// key is the one that signed last.
	key webhooks.SigningKey
	// attempts keep their slots until they are recorded.
	attempts *pool[webhookSlot]

	mu sync.Mutex
	// made are attempts that have not been recorded yet. Their slots bound how many
	// they become while the database is away.
	made []webhooks.Sent
}

// webhookSlot is what an attempt takes a slot of: a line that was well or failing
// when the attempt began.
type webhookSlot struct {
	line    webhook.Line
	failing bool
}

func slotOf(s webhooks.Sending) webhookSlot {
	return webhookSlot{line: webhook.Line{Tenant: s.Tenant, Endpoint: s.Endpoint}, failing: s.Failing}
}

// drain records what was sent and begins what is due, until all slots are taken
// or nothing is due. It does not wait for an answer: each attempt wakes the
// worker when it ends, so that a slow endpoint holds up only its own.
func (h *webhookWorker) drain(ctx context.Context) error {
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
func (h *webhookWorker) begin(ctx context.Context) (int, error) {
	busy := h.busy()
	if busy.Well+busy.Failing >= webhookSlots.All {
		return 0, nil
	}
	// Looking first spares an idle database a write lock at every tick.
	due, err := h.deliveries.Due(ctx)
	if err != nil || !due {
		return 0, err
	}
	key, err := h.keys.Current(ctx, h.key)
	if err != nil {
		return 0, err
	}
	h.key = key
	begun, err := h.deliveries.Begin(ctx, webhookSlots, busy)
	for _, s := range begun {
		h.attempts.begin(slotOf(s), func(ctx context.Context) { h.attempt(ctx, s, key) })
	}
	return len(begun), err
}

// busy sums the slots that are taken up.
func (h *webhookWorker) busy() webhook.Busy {
	busy := webhook.Busy{Lines: map[webhook.Line]int{}}
	taken, _ := h.attempts.slots()
	for slot, n := range taken {
		busy.Lines[slot.line] += n
		if slot.failing {
			busy.Failing += n
		} else {
			busy.Well += n
		}
	}
	return busy
}

func (h *webhookWorker) attempt(ctx context.Context, s webhooks.Sending, key webhooks.SigningKey) {
	made := webhooks.Sent{Sending: s, Attempt: h.sender.Send(ctx, s, key)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if ctx.Err() == nil {
		h.made = append(h.made, made)
	}
}

// record records the attempts that were made.
func (h *webhookWorker) record(ctx context.Context) error {
	h.mu.Lock()
	made := h.made
	h.made = nil
	h.mu.Unlock()
	if len(made) == 0 {
		return nil
	}
	late, err := h.deliveries.End(ctx, made)
	if err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.made = append(made, h.made...)
		return err
	}
	for _, s := range made {
		h.attempts.release(slotOf(s.Sending))
		h.tell(s)
	}
	if late > 0 {
		h.log.Warn("webhook attempts outlived their lease; others have made them again", "attempts", late)
	}
	return nil
}

func (h *webhookWorker) tell(s webhooks.Sent) {
	log := h.log.Debug
	if s.Fault != "" {
		log = h.log.Error
	}
	log("webhook sent", "tenant", s.Tenant, "event", s.Event, "attempt", s.Number, "status", s.Attempt.Status,
		"error", s.Attempt.Error, "ms", s.Attempt.Duration)
}

// last finishes the attempts that are under way, and records those that ended.
func (h *webhookWorker) last(ctx context.Context) error {
	h.attempts.finish(ctx)
	// ctx may be over, and what was sent should not be sent again for that.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.worker.Finish)
	defer cancel()
	return h.record(ctx)
}
