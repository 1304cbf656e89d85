// Package sparse bounds how often one event is logged, so that a stranger who causes it
// again and again does not fill the log.
package sparse

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// every is the least time between two records of one event.
const every = time.Second

// maxEvents bounds the events that are remembered.
const maxEvents = 1000

// Log logs events, each at most once a second. It is safe for concurrent
// use, and the zero value is ready.
type Log struct {
	mu     sync.Mutex
	events map[string]*event
}

type event struct {
	logged  time.Time
	skipped int
}

// Error logs an event at the level ERROR to a logger, unless the same event was logged within
// the last second. The next record has the number of those that were skipped.
func (l *Log) Error(to *slog.Logger, name, text string, attributes ...any) {
	l.log(to, slog.LevelError, name, text, attributes)
}

// Warn is Error at the level WARN.
func (l *Log) Warn(to *slog.Logger, name, text string, attributes ...any) {
	l.log(to, slog.LevelWarn, name, text, attributes)
}

func (l *Log) log(to *slog.Logger, level slog.Level, name, text string, attributes []any) {
	skipped, ok := l.admit(name, time.Now())
	if !ok {
		return
	}
	if skipped > 0 {
		attributes = append(attributes, "skipped", skipped)
	}
	to.Log(context.Background(), level, text, attributes...)
}

func (l *Log) admit(name string, now time.Time) (skipped int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.events[name]
	if known != nil && now.Sub(known.logged) < every {
		known.skipped++
		return 0, false
	}
	if known != nil {
		skipped = known.skipped
	}
	if l.events == nil || len(l.events) >= maxEvents {
		l.events = map[string]*event{}
	}
	l.events[name] = &event{logged: now}
	return skipped, true
}
