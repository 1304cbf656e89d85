package store

import (
	"context"
	"fmt"
)

// Checkpoint writes the log of a file into it, so that what was erased is in
// neither. A server does so in its own time.
func (p *Primary) Checkpoint(ctx context.Context) error {
	if !p.embedded {
		return nil
	}
	if _, err := p.write.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		return fmt.Errorf("store: checkpoint: %w", err)
	}
	return nil
}

// Snapshot runs do on reads that all see the database as it was at the first of
// them, while others go on writing. It costs a connection for as long, and the
// file of an embedded database grows by what is written meanwhile.
func (p *Primary) Snapshot(ctx context.Context, do func(Reads) error) error {
	// BEGIN alone would show no dead connection: it waits for the first read.
	conn, err := p.liveConn(ctx, p.read, maxReaders, "SELECT 1")
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
	// A server may have ended the transaction, and then what was read is of
	// several times. Only a transaction that is still there can be committed.
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return fmt.Errorf("store: the snapshot was lost: %w", err)
	}
	ended = true
	return nil
}
