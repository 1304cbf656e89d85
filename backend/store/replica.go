package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"kith/backend/libsql"
	"kith/core"
)

// Replica is a database that is only looked at: how far it is behind, and
// whether it is of this program's time. It is safe for concurrent use.
type Replica struct {
	Reads
	db *sql.DB
}

// OpenReplica opens a database as Open does, and never writes to it.
func OpenReplica(url, token string) (*Replica, error) {
	connector, err := libsql.NewConnector(libsql.WithPragmas(url, "query_only(1)", "busy_timeout(5000)"), token)
	if err != nil {
		return nil, fmt.Errorf("store: open replica: %w", err)
	}
	db := sql.OpenDB(connector)
	r := &Replica{Reads{db}, db}
	r.db.SetMaxOpenConns(1)
	r.db.SetConnMaxIdleTime(30 * time.Second)
	return r, nil
}

// Close closes the connection.
func (r *Replica) Close() error { return r.db.Close() }

// Heartbeat is the newest time that the backends wrote down and that has come here;
// zero when no backend writes it down, as on an embedded database.
func (r *Replica) Heartbeat(ctx context.Context) (core.Time, error) {
	var at core.Time
	if err := r.db.QueryRowContext(ctx, `SELECT beat_at FROM heartbeat`).Scan(&at); err != nil {
		return 0, fmt.Errorf("store: beat: %w", err)
	}
	return at, nil
}

// Schema is the newest migration that the database has had; compare it with
// SchemaVersion.
func (r *Replica) Schema(ctx context.Context) (int, error) {
	var version int
	if err := r.db.QueryRowContext(ctx, `SELECT max(version) FROM schema_version`).Scan(&version); err != nil {
		return 0, fmt.Errorf("store: schema: %w", err)
	}
	return version, nil
}
