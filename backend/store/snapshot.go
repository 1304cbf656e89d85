package store

import (
	"context"
	"fmt"
)

// Snapshot runs do on reads that all see the database as it was at the first of
// them, while others go on writing. It costs a connection for as long, and the
// file of an embedded database grows by what is written meanwhile.
func (p *Primary) Snapshot(ctx context.Context, do func(Reads) error) error {
	conn, err := alive(ctx, p.read, maxReaders, "BEGIN")
	if err != nil {
		return fmt.Errorf("store: begin snapshot: %w", err)
	}
	defer conn.Close()
	defer rollback(ctx, conn)
	return do(Reads{q: conn})
}
