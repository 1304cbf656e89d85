package connect

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func open(t *testing.T, url string) *sql.DB {
	t.Helper()
	c, err := Connector(url, "")
	require.NoError(t, err)
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Who asks a server that takes connections and answers nothing waits as long as
// it has said, and another may ask meanwhile.
func TestConnector_ServerThatAnswersNothing(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	db := open(t, "ws://"+silent.Addr().String())
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		began := time.Now()
		err = db.PingContext(ctx)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, ErrNoConnection)
		require.Less(t, time.Since(began), time.Second)
	}
}

// refusing is what the driver does when a server refuses a stream.
type refusing struct{ driver.Connector }

func (refusing) Connect(context.Context) (driver.Conn, error) {
	var noError map[string]any
	return nil, noError["error"].(error)
}

// A server that refuses a stream, as one does that has too many, is an error.
func TestConnector_ServerThatRefusesAStream(t *testing.T) {
	t.Parallel()
	db := sql.OpenDB(connector{refusing{}})
	defer db.Close()
	require.ErrorIs(t, db.PingContext(t.Context()), ErrNoConnection)
}
