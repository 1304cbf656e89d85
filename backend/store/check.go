package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kith/core"
)

// maxProblems limits the problems that Integrity returns.
const maxProblems = 20

// Integrity returns what is wrong with the structure of a database file; none if nothing
// is. A thorough check also compares each index with its table. The check of a large file
// takes minutes: if the context ends before, the error is that of the context. A server
// checks its own file; the result is then empty.
func Integrity(ctx context.Context, p *Primary, thorough bool) ([]string, error) {
	if !p.Embedded() {
		return nil, nil
	}
	pragma := "quick_check"
	if thorough {
		pragma = "integrity_check"
	}
	found, err := List[string](ctx, p.Reads, "integrity", fmt.Sprintf("PRAGMA %s(%d)", pragma, maxProblems))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case len(found) == 1 && found[0] == "ok":
		return nil, nil
	}
	return found, nil
}

// recentWrite is how long after a write the database counts as writable.
const recentWrite = time.Second

// fullTime is how long after a write that failed because the disk is full the database
// does not count as writable: the row of the check may fit into what other writes left.
const fullTime = 5 * time.Second

// CheckWritable returns an error if the database does not accept a write. It writes a row
// of its own, and waits for the disk, unless another write of this process succeeded
// within the last second: a busy database is not loaded further. It also returns one if a
// write of this process failed within the last 5 seconds because the disk is full, or if
// the file was lost.
func (p *Primary) CheckWritable(ctx context.Context, now core.Time) error {
	if err := p.fileLost(); err != nil {
		return err
	}
	if time.Since(time.Unix(0, p.full.Load())) < fullTime {
		return unavailable{errors.New(full)}
	}
	if time.Since(time.Unix(0, p.wrote.Load())) < recentWrite {
		return nil
	}
	return p.Write(ctx, now, func(tx *Tx) error {
		return tx.Exec(ctx, "readiness", `UPDATE readiness SET checked_at = ?`, int64(now))
	})
}
