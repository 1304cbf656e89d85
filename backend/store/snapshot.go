package store

import (
	"context"
	"fmt"
)

// Checkpoint copies the write-ahead log of an embedded file into the file and
// empties the log, so that erased data is in neither. For a server it does
// nothing: a server checkpoints by itself.
func (p *Primary) Checkpoint(ctx context.Context) error {
	if !p.Embedded() {
		return nil
	}
	if err := p.fileLost(); err != nil {
		return fmt.Errorf("store: checkpoint: %w", err)
	}
	if _, err := p.write.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		return fmt.Errorf("store: checkpoint: %w", err)
	}
	return nil
}

// Snapshot runs do with reads that all see the database as it was at the first of
// them. Writers are not blocked. Meanwhile the snapshot occupies a connection, and
// the log of an embedded file grows by what is written. It returns an error if the
// server ended the snapshot early.
func (p *Primary) Snapshot(ctx context.Context, do func(Reads) error) error {
	// BEGIN alone would not detect a dead connection: it is sent with the first read.
	conn, err := p.liveConn(ctx, p.read, "SELECT 1")
	if err != nil {
		return fmt.Errorf("store: begin snapshot: %w", err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return fmt.Errorf("store: begin snapshot: %w", err)
	}
	ended := false
	defer func() {
		if !ended {
			rollback(ctx, conn)
		}
	}()
	if err := do(Reads{q: conn}); err != nil {
		return err
	}
	// If the server has ended the transaction, the reads are not of one moment.
	// Only a transaction that still exists can be committed.
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return fmt.Errorf("store: the server ended the snapshot: %w", err)
	}
	ended = true
	return nil
}
