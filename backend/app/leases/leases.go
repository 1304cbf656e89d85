// Package leases releases the work of processes that stopped.
//
// Workers lease work to their process: jobs, deliveries of webhooks, and tasks at payment
// gateways. A process that has leases increments a number in the database while it runs,
// at each beat. Each process counts for how many of its own beats the number of another
// one has not changed; after deadBeats, it releases the leases of that process. So no clock
// matters: neither one that differs between machines, nor one that is set.
//
// A process counts only beats that it could write. While the database is away or full, no
// process beats and none counts.
package leases

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/leasedb"
)

// DefaultTime is the default of Leases.Time.
const DefaultTime = 10 * time.Second

// staleTime is after how long a lease is released that was neither ended nor renewed, even
// if its process runs: the process may have lost the answer of the database, and so not
// know of the lease.
const staleTime = 5 * time.Minute

const (
	// deadBeats is the number of beats without a sign of life after which a process
	// counts as stopped.
	deadBeats = 5
	// idleBeats is the number of beats without leases after which a process leaves. An
	// idle database is not written.
	idleBeats = 30
)

// Leases watches the processes of one database.
type Leases struct {
	*base.Base
	// Time is about how long the work of a process that stopped waits for another one.
	// Zero means DefaultTime.
	Time time.Duration

	mu   sync.Mutex
	seen watch
}

// Every returns the interval at which Beat must be called.
func (ls *Leases) Every() time.Duration { return cmp.Or(ls.Time, DefaultTime) / deadBeats }

// Beat writes a sign of life of this process, and releases the leases of processes that
// stopped. It returns how many it released. If no process has leases, it
// writes nothing.
func (ls *Leases) Beat(ctx context.Context) (released int, err error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	now, err := read(ctx, ls.DB.Reads)
	if err != nil || now.idle() {
		return 0, err
	}
	type beaten struct {
		next     watch
		released int
	}
	b, err := store.WriteValue(ctx, ls.DB.Write, ls.Now(), func(tx *store.Tx) (b beaten, err error) {
		if err := leasedb.Beat(ctx, tx, ls.Process); err != nil {
			return b, err
		}
		now, err := read(ctx, tx.Reads)
		if err != nil {
			return b, err
		}
		var end ending
		b.next, end = ls.seen.beat(ls.Process, now, int(staleTime/ls.Every()))
		if b.released, err = leasedb.Release(ctx, tx, end.tokens); err != nil {
			return b, err
		}
		for _, process := range end.processes {
			if err := leasedb.Leave(ctx, tx, process); err != nil {
				return b, err
			}
		}
		return b, nil
	})
	if err != nil {
		return 0, err
	}
	ls.seen = b.next
	return b.released, nil
}

// Leave releases all leases of this process. It must be called when its workers have
// stopped: then the next process begins their work at once.
func (ls *Leases) Leave(ctx context.Context) error {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	now, err := read(ctx, ls.DB.Reads)
	if err != nil || !now.has(ls.Process) {
		return err
	}
	return ls.DB.Write(ctx, ls.Now(), func(tx *store.Tx) error {
		now, err := read(ctx, tx.Reads)
		if err != nil {
			return err
		}
		if _, err := leasedb.Release(ctx, tx, now.of(ls.Process)); err != nil {
			return err
		}
		return leasedb.Leave(ctx, tx, ls.Process)
	})
}

func read(ctx context.Context, r store.Reads) (s state, err error) {
	if s.processes, err = leasedb.Processes(ctx, r); err == nil {
		s.tokens, err = leasedb.Tokens(ctx, r)
	}
	return s, err
}

// state is what the database has of processes and leases.
type state struct {
	processes []leasedb.Process
	tokens    []string
}

func (s state) idle() bool { return len(s.processes) == 0 && len(s.tokens) == 0 }

func (s state) has(process string) bool {
	return slices.ContainsFunc(s.processes, func(p leasedb.Process) bool { return p.ID == process })
}

// of returns the tokens of a process.
func (s state) of(process string) (tokens []string) {
	for _, token := range s.tokens {
		if owner(token) == process {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// owner returns the process of a token.
func owner(token string) string {
	process, _, _ := strings.Cut(token, ".")
	return process
}

// watch is what a process has seen of others.
type watch struct {
	processes map[string]sight
	// tokens has the number of beats since each token was first seen.
	tokens map[string]int
	// idle is the number of beats in which the process had no leases.
	idle int
}

// sight is the number of a process, and for how many beats it has not changed.
type sight struct {
	beat      int64
	unchanged int
}

// ending has the leases that must be released, and the processes that must leave.
type ending struct{ tokens, processes []string }

// beat returns what the process self has seen after one more beat, and what must end. A
// lease that was not renewed for stale beats is released.
func (w watch) beat(self string, now state, stale int) (watch, ending) {
	next := watch{processes: map[string]sight{}, tokens: map[string]int{}}
	var end ending
	dead := map[string]bool{}
	for _, p := range now.processes {
		s := sight{beat: p.Beat}
		if before, known := w.processes[p.ID]; known && before.beat == p.Beat {
			s.unchanged = before.unchanged + 1
		}
		if p.ID != self && s.unchanged >= deadBeats {
			dead[p.ID] = true
			end.processes = append(end.processes, p.ID)
			continue
		}
		next.processes[p.ID] = s
	}
	for _, token := range now.tokens {
		process, age := owner(token), 0
		if before, known := w.tokens[token]; known {
			age = before + 1
		}
		if dead[process] || !now.has(process) || age >= stale {
			end.tokens = append(end.tokens, token)
			continue
		}
		next.tokens[token] = age
	}
	if now.has(self) && len(now.of(self)) == 0 {
		if next.idle = w.idle + 1; next.idle >= idleBeats {
			next.idle = 0
			end.processes = append(end.processes, self)
		}
	}
	return next, end
}
