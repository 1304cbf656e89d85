package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"kith/backend/libsql"
	"kith/backend/metrics"
	"kith/backend/store"
	"kith/backend/store/secretdb"
	"kith/core"
)

// replicas are read-only connections to the databases of an edge, to check them: its
// own first, then its fallbacks, in the order in which it reads from them.
type replicas struct {
	all []*store.Replica
	// checkKey returns an error if the master key is not that of a database.
	checkKey func(secretdb.MasterKey) error
	// reads returns which of them the edge reads from; false for a file.
	reads func() (libsql.Reads, bool)
}

func openReplicas(database *libsql.Database, d *databaseFlags, urls ...string) (*replicas, error) {
	r := &replicas{checkKey: d.checkKey, reads: database.Reads}
	for _, url := range urls {
		replica, err := store.OpenReplica(url, d.DatabaseToken)
		if err != nil {
			r.close()
			return nil, err
		}
		r.all = append(r.all, replica)
	}
	return r, nil
}

func (r *replicas) close() {
	for _, replica := range r.all {
		_ = replica.Close()
	}
}

// check returns an error if a database has another schema or another master key.
func (r *replicas) check(ctx context.Context, replica *store.Replica) error {
	if err := checkSchema(ctx, replica); err != nil {
		return err
	}
	has, err := secretdb.FindMasterKey(ctx, replica.Reads)
	if err != nil {
		return &core.Error{Code: core.CodeUnavailable, Message: "the master key of the database could not be checked", Err: err}
	}
	return r.checkKey(has)
}

// checkAll checks all databases. One that does not answer within the timeout is only
// logged, because it may answer later.
func (r *replicas) checkAll(e *env, timeout time.Duration) error {
	for i, replica := range r.all {
		ctx, cancel := context.WithTimeout(e.ctx, timeout)
		err := r.check(ctx, replica)
		cancel()
		switch {
		case isAway(err):
			e.log.Warn("the edge starts before its database", "replica", i, "error", message(err))
		case err != nil:
			return err
		}
	}
	return nil
}

// isAway reports whether an error means that a database does not answer.
func isAway(err error) bool {
	var away *core.Error
	return errors.As(err, &away) && away.Code == core.CodeUnavailable
}

// ready returns why the edge cannot read, or nil if it can: the result of checking the
// first database that answers, of those that the edge would read from.
func (r *replicas) ready(ctx context.Context) error {
	return r.first(ctx, func(ctx context.Context, replica *store.Replica) (bool, error) {
		err := r.check(ctx, replica)
		return !isAway(err), err
	})
}

// lag returns how far the database that the edge reads from is behind its primary, in
// seconds.
func (r *replicas) lag(ctx context.Context) (map[string]float64, error) {
	var beat core.Time
	err := r.first(ctx, func(ctx context.Context, replica *store.Replica) (_ bool, err error) {
		beat, err = replica.Heartbeat(ctx)
		return err == nil, err
	})
	if err != nil || beat == 0 {
		return nil, err
	}
	return map[string]float64{"": float64(now()-beat) / float64(core.Second)}, nil
}

// first calls ask for the database that the edge reads from, then for those after it,
// until one answers. All calls together take no longer than the context allows.
func (r *replicas) first(ctx context.Context, ask func(context.Context, *store.Replica) (bool, error)) error {
	from := 0
	if reads, ok := r.reads(); ok {
		from = max(0, reads.From)
	}
	end, ok := ctx.Deadline()
	if !ok {
		end = time.Now().Add(probeTimeout)
	}
	var why error
	for i, replica := range r.all[from:] {
		share := time.Until(end) / time.Duration(len(r.all)-from-i)
		bounded, cancel := context.WithTimeout(ctx, share)
		answered, err := ask(bounded, replica)
		cancel()
		if answered {
			return err
		}
		why = err
	}
	return why
}

// gauges returns the metrics of the edge's reads.
func (r *replicas) gauges() []metrics.Gauge {
	return []metrics.Gauge{{
		Name: "kith_replica_lag_seconds", Help: "How far the database that the edge reads from is behind its primary; none on an embedded database.",
		Read: r.lag,
	}, {
		Name: "kith_replica_in_use", Help: "The database that the edge reads from: 0 its own, 1 its first fallback; -1 none, all are away. None on an embedded database.",
		Read: func(context.Context) (map[string]float64, error) {
			reads, ok := r.reads()
			if !ok {
				return nil, nil
			}
			return map[string]float64{"": float64(reads.From)}, nil
		},
	}, {
		Name: "kith_replica_reads_total", Help: "Reads of the component, by the database that answered: 0 its own, 1 its first fallback, none. None on an embedded database.",
		Label: "replica", Counts: true, Read: r.counts,
	}}
}

func (r *replicas) counts(context.Context) (map[string]float64, error) {
	reads, ok := r.reads()
	if !ok {
		return nil, nil
	}
	counts := map[string]float64{"none": float64(reads.Failed)}
	for i, n := range reads.Answered {
		counts[strconv.Itoa(i)] = float64(n)
	}
	return counts, nil
}
