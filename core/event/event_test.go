package event

import (
	"testing"

	"kith/core"
)

// An idempotency key is refused for 24 h after its first receipt (spec 8.4).
func TestKeySince(t *testing.T) {
	const received core.Time = 1_700_000_000_000
	for _, c := range []struct {
		name   string
		now    core.Time
		blocks bool
	}{
		{"same time", received, true},
		{"24 h less 1 ms", received + 24*core.Hour - 1, true},
		{"24 h", received + 24*core.Hour, true},
		{"24 h and 1 ms", received + 24*core.Hour + 1, false},
	} {
		if got := received >= KeySince(c.now); got != c.blocks {
			t.Errorf("%s: blocks is %v, want %v", c.name, got, c.blocks)
		}
	}
}

func TestBatch_Stamp(t *testing.T) {
	const now core.Time = 1_700_000_000_000
	b := Call{Events: []Event{{Key: "a"}, {Key: "b", Triggered: 7, ID: "sent"}}}
	b.Stamp(now, [6]byte{1, 0, 0, 0, 255, 255})

	if b.Received != now {
		t.Errorf("received at %d", b.Received)
	}
	want := []Event{
		{ID: core.NewID(now, [6]byte{1, 0, 0, 0, 255, 255}), Key: "a", Triggered: now},
		{ID: core.NewID(now, [6]byte{1, 0, 0, 1}), Key: "b", Triggered: 7},
	}
	for i := range want {
		if b.Events[i] != want[i] {
			t.Errorf("event %d is %+v, want %+v", i, b.Events[i], want[i])
		}
	}
}

// A duplicate is 409 (spec 7.1); wire maps the code to it.
func TestDuplicate(t *testing.T) {
	if e := Duplicate(""); e.Code != core.CodeConflict || e.Field != "idempotencyKey" {
		t.Errorf("%+v", e)
	}
}
