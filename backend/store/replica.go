package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"

	"kith/backend/libsql"
	"kith/core"
)

// Replica is a read-only connection to a database, to check how far behind the
// primary it is and whether its schema is current. It is safe for concurrent use.
type Replica struct {
	Reads
	db *sql.DB
}

// replicaLife is how long a connection to a server is used. A replica copies the database again
// after its primary was killed, and answers from the old copy on connections from before.
const replicaLife = 3 * time.Second

// OpenReplica opens a database for reading; url and token are those of Open.
func OpenReplica(url, token string) (*Replica, error) {
	var connector driver.Connector
	var err error
	if strings.HasPrefix(url, "file:") {
		connector, err = libsql.NewConnector(libsql.WithPragmas(url, "query_only(1)", "busy_timeout(5000)"))
	} else {
		connector, err = libsql.NewPipeline(url, token)
	}
	if err != nil {
		return nil, fmt.Errorf("store: open replica: %w", err)
	}
	db := sql.OpenDB(markingConnector{connector, &Primary{}})
	db.SetMaxOpenConns(1)
	db.SetConnMaxIdleTime(30 * time.Second)
	if !strings.HasPrefix(url, "file:") {
		db.SetConnMaxLifetime(replicaLife)
	}
	return &Replica{Reads{db}, db}, nil
}

// Close closes the connection.
func (r *Replica) Close() error { return r.db.Close() }

// Heartbeat returns the latest heartbeat that the replica has received from the
// backends. It is zero if no backend writes heartbeats, as on an embedded
// database.
func (r *Replica) Heartbeat(ctx context.Context) (core.Time, error) {
	return One[core.Time](ctx, r.Reads, "beat", `SELECT beat_at FROM heartbeat`)
}
