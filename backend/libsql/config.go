package libsql

import (
	"log/slog"
	"strings"
	"time"
)

// Config selects the database that Open opens. The zero value of every field
// except URL means its default.
type Config struct {
	// URL is file:PATH for an embedded database, which is created if it does not
	// exist, or ws://, wss://, http://, https:// or libsql:// for a server.
	URL string
	// Token is sent to a server as its bearer token. Default none.
	Token string
	// Fallbacks are the URLs of further servers of the same database, with the same
	// token. They are tried in this order while URL and the fallbacks before do not
	// answer. A file has no fallbacks. Default none.
	Fallbacks []string
	// PerRequest makes a new connection for every Connect, as Spin does. Fallbacks
	// must then be empty, and the scheme of a server http or https. Default false.
	PerRequest bool
	// Timeout is the time limit of the requests that run the statements. A statement
	// waits for the lock of a file for half of it. Default 10 s.
	Timeout time.Duration
	// ReadTimeout bounds a read from a server, over all servers that are tried. The own
	// server gets an eighth of it, each fallback an equal share of the rest; a server that
	// takes longer is not used again until it answers a probe. Default 1.2 s.
	ReadTimeout time.Duration
	// WriteTimeout is the longest time that a write waits for its result. After it, all
	// writes fail at once until the database accepts one again. Default 1.5 s.
	WriteTimeout time.Duration
	// MaxRows and MaxRowBytes bound the result of one statement. Default 10,000
	// rows and 8 MiB.
	MaxRows, MaxRowBytes int
	// Log records when a server stops answering and when it answers again. Default slog.Default().
	Log *slog.Logger

	// clock measures ReadTimeout and WriteTimeout. Default systemClock.
	clock clock
}

const mib = 1 << 20

func orDefault[T int | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

func (c Config) withDefaults() Config {
	orDefault(&c.Timeout, 10*time.Second)
	orDefault(&c.ReadTimeout, 1200*time.Millisecond)
	orDefault(&c.WriteTimeout, 1500*time.Millisecond)
	orDefault(&c.MaxRows, 10_000)
	orDefault(&c.MaxRowBytes, 8*mib)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.clock.now == nil {
		c.clock = systemClock
	}
	return c
}

func (c Config) limits() limits { return limits{c.MaxRows, c.MaxRowBytes} }

// onFile reports whether the database is a file.
func (c Config) onFile() bool { return strings.HasPrefix(c.URL, "file:") }
