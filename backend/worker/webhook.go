package worker

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"kith/backend/app/webhooks"
	"kith/backend/sender"
	"kith/core/webhook"
)

// webhookPoll is the longest delay until an event is seen. The worker is not woken for
// events, since an event is only visible once its transaction has committed.
const webhookPoll = 200 * time.Millisecond

// webhookSlots bounds the attempts that one process makes at once. A slot takes several events,
// so that a commit is for many of them.
var webhookSlots = webhook.Slots{All: 64, PerQueue: 8, PerSlot: 8}

const (
	// slotTime is how long a slot begins further attempts: an endpoint that takes longer gets its
	// other events by other slots.
	slotTime = 100 * time.Millisecond
	// quickTime is how long an attempt takes at most after which slots take several.
	quickTime = 10 * time.Millisecond
	// maxQuick bounds the endpoints that are remembered as quick. Above it, all begin again.
	maxQuick = 1000
)

// NewWebhooks returns the worker that sends events to the endpoints of tenants.
// Several may run on one database: each attempt is leased to one of them.
//
// Attempts for an endpoint begin in the order of its events, but several run at once,
// and a failed one is repeated later. So consumers must not rely on the order of
// arrival.
func NewWebhooks(d *webhooks.Deliveries, keys *webhooks.SigningKeys, s *sender.Sender, log *slog.Logger) *Worker {
	h := &webhookWorker{deliveries: d, keys: keys, sender: s, log: log, quick: map[webhook.Queue]bool{}}
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
	// key is the signing key that was used last.
	key webhooks.SigningKey
	// attempts has a slot for the attempts that are made one after the other, until they are
	// recorded.
	attempts *pool[webhookSlot]

	mu sync.Mutex
	ended
	// quick are the endpoints whose last attempt left time for others in its slot, up to maxQuick.
	quick map[webhook.Queue]bool
}

// ended is what must be recorded. Its slots bound how much it is while the database is
// unavailable.
type ended struct {
	made   []webhooks.Sent
	unmade []webhooks.Sending
	// slots become free when it is recorded.
	slots []webhookSlot
}

// webhookSlot is the key of an attempt's slot: its endpoint, and whether the endpoint
// was failing when the attempt began.
type webhookSlot struct {
	queue   webhook.Queue
	failing bool
}

func slotOf(s webhooks.Sending) webhookSlot {
	return webhookSlot{queue: webhook.Queue{Tenant: s.Tenant, Endpoint: s.Endpoint}, failing: s.Failing}
}

// drain records the attempts that were made and begins those that are due, until all
// slots are taken or no attempt is due. It does not wait for answers: each attempt
// wakes the worker when it ends, so that a slow endpoint delays only its own events.
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

// begin begins due attempts and returns how many.
func (h *webhookWorker) begin(ctx context.Context) (int, error) {
	busy := h.busy()
	if busy.Healthy+busy.Failing >= webhookSlots.All {
		return 0, nil
	}
	// This read saves an idle database a write lock at every tick.
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
	for _, taken := range begun {
		h.attempts.begin(slotOf(taken[0]), func(ctx context.Context) { h.attempt(ctx, taken, key) })
	}
	return len(begun), err
}

// busy returns the number of taken slots, by endpoint and in total.
func (h *webhookWorker) busy() webhook.Busy {
	h.mu.Lock()
	busy := webhook.Busy{Queues: map[webhook.Queue]int{}, Quick: maps.Clone(h.quick)}
	h.mu.Unlock()
	taken, _ := h.attempts.slots()
	for slot, n := range taken {
		busy.Queues[slot.queue] += n
		if slot.failing {
			busy.Failing += n
		} else {
			busy.Healthy += n
		}
	}
	return busy
}

// attempt makes the attempts of a slot, until one fails or slotTime is over.
func (h *webhookWorker) attempt(ctx context.Context, taken []webhooks.Sending, key webhooks.SigningKey) {
	begun, slot := time.Now(), slotOf(taken[0])
	for healthy := true; len(taken) > 0 && healthy && time.Since(begun) < slotTime && ctx.Err() == nil; taken = taken[1:] {
		at := time.Now()
		made := webhooks.Sent{Sending: taken[0], Attempt: h.sender.Send(ctx, taken[0], key)}
		healthy = made.Attempt.OK()
		h.mu.Lock()
		if ctx.Err() == nil {
			h.made = append(h.made, made)
		}
		if len(h.quick) >= maxQuick {
			clear(h.quick)
		}
		if delete(h.quick, slot.queue); healthy && time.Since(at) <= quickTime {
			h.quick[slot.queue] = true
		}
		h.mu.Unlock()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slots = append(h.slots, slot)
	if ctx.Err() == nil {
		h.unmade = append(h.unmade, taken...)
	}
}

// record records the attempts that were made.
func (h *webhookWorker) record(ctx context.Context) error {
	h.mu.Lock()
	done := h.ended
	h.ended = ended{}
	h.mu.Unlock()
	if len(done.made)+len(done.unmade) > 0 {
		late, err := h.deliveries.End(ctx, done.made, done.unmade...)
		if err != nil {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.ended = ended{append(done.made, h.made...), append(done.unmade, h.unmade...), append(done.slots, h.slots...)}
			return err
		}
		for _, s := range done.made {
			h.logSent(s)
		}
		if late > 0 {
			h.log.Warn("leases of webhook attempts expired; other processes have repeated them", "attempts", late)
		}
	}
	for _, slot := range done.slots {
		h.attempts.release(slot)
	}
	return nil
}

func (h *webhookWorker) logSent(s webhooks.Sent) {
	log := h.log.Debug
	if s.Fault != "" {
		log = h.log.Error
	}
	log("webhook sent", "tenant", s.Tenant, "event", s.Event, "attempt", s.Number, "status", s.Attempt.Status,
		"error", s.Attempt.Error, "ms", s.Attempt.Duration)
}

// last waits for the running attempts, and records those that ended.
func (h *webhookWorker) last(ctx context.Context) error {
	h.attempts.finish(ctx)
	// ctx may be done, but attempts that are not recorded would be sent again.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.worker.Finish)
	defer cancel()
	return h.record(ctx)
}
