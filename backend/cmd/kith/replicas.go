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
	"kith/core/auth"
)

// replicas are read-only connections to the databases of an edge, to check them: its
// own first, then its fallbacks, in the order in which it reads from them.
type replicas struct {
	all []*store.Replica
	// keys are the master keys with which the edge was started, by the flags of.
	keys auth.Keyring
	of   *databaseFlags
	// reads returns which of them the edge reads from; false for a file.
	reads func() (libsql.Reads, bool)
	// refusesWrites reports whether the edge refuses writes.
	refusesWrites func() bool
}

func openReplicas(database *libsql.Database, d *databaseFlags, urls ...string) (*replicas, error) {
	keys, _, _, err := d.keys()
	if err != nil {
		return nil, err
	}
	r := &replicas{keys: keys, of: d, reads: database.Reads, refusesWrites: database.RefusesWrites}
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

// check returns an error if a database has another schema or another master key. It is
// degraded if the schema is newer; see checkSchema.
func (r *replicas) check(ctx context.Context, replica *store.Replica) error {
	schema := checkSchema(ctx, replica)
	if less := (degraded{}); schema != nil && !errors.As(schema, &less) {
		return schema
	}
	has, err := secretdb.FindMasterKey(ctx, replica.Reads)
	if err != nil {
		return &core.Error{Code: core.CodeUnavailable, Message: "the master key of the database could not be checked", Err: err}
	}
	if err := r.of.checkKeyOf(r.keys, has); err != nil {
		return err
	}
	return schema
}

// schemaWait is how long an edge that starts waits until its databases have its schema: a
// backend that starts at the same time migrates the primary, and a replica follows it.
const schemaWait = 30 * time.Second

// checkAll checks all databases when the edge starts. One that does not answer within the
// timeout is only logged, because it may answer later. One with an older schema is checked
// again until schemaWait is over.
func (r *replicas) checkAll(e *env, timeout time.Duration) error {
	end := time.Now().Add(schemaWait)
	for i, replica := range r.all {
		err := r.checkOne(e, replica, timeout)
		for waits := false; errors.Is(err, store.ErrOlderSchema) && e.ctx.Err() == nil && time.Now().Before(end); waits = true {
			if !waits {
				e.log.Warn("the edge waits for its database", "replica", i, "seconds", schemaWait.Seconds(), "error", message(err))
			}
			time.Sleep(100 * time.Millisecond)
			err = r.checkOne(e, replica, timeout)
		}
		switch {
		case isAway(err):
			e.log.Warn("the edge starts before its database", "replica", i, "error", message(err))
		case err != nil:
			return notDegraded(err)
		}
	}
	return nil
}

func (r *replicas) checkOne(e *env, replica *store.Replica, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(e.ctx, timeout)
	defer cancel()
	return r.check(ctx, replica)
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
