package host

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"time"

	"kith/wasm/bodies"
)

// Options configures a Host. The zero value of every field means its default.
type Options struct {
	// ReadFile reads the manifest and the module. The path of the module is absolute, or
	// joined to the manifest's folder. Default os.ReadFile.
	ReadFile func(path string) ([]byte, error)
	// Variables are values for the manifest's variables, by name. A name that
	// the manifest does not declare is an error. Default none.
	Variables map[string]string
	// Optional are further values, which a manifest of an older version may not declare.
	Optional map[string]string
	// Databases has the databases for the names in sqlite_databases. Opening a name that
	// is granted but not in this map answers no-such-database. The Host owns them: Close
	// closes them, and so does Load if it fails. Default none.
	Databases map[string]Database

	// Fresh makes a new instance for every request. Default false.
	Fresh bool
	// StrictSpin makes the host behave as Spin does, at Spin's cost; see strict.go. It
	// implies Fresh. Default false.
	StrictSpin bool
	// Instances is the maximum number of requests that run at once. A quarter of them,
	// rounded down, is reserved for look-ups: GET and HEAD without a body, while they
	// only read databases. Default 64.
	Instances int
	// Queue is the maximum number of look-ups, and separately of other requests, that wait
	// for an instance; further ones are answered with 503. Default 256.
	Queue int
	// Bodies bounds the bodies that are being read or in use: one that is too slow is
	// answered with 408, one that does not fit with 503. Defaults: see bodies.Limits.
	Bodies bodies.Limits
	// Timeout bounds a request from the end of its body to its answer, including waiting
	// and all imports, and the start of the first instance. Default 10 s.
	Timeout time.Duration
	// MaxBody is the maximum size of a request body in bytes; a larger one is answered
	// with 413 and not read. Default 16 MiB.
	MaxBody int64
	// NamedMaxBody is the limit that the 413 names: that of the component, if it is lower.
	// Default MaxBody.
	NamedMaxBody int64
	// LargeBodies is the base URL of the server that accepts larger bodies under the same
	// paths; the 413 names it. Default "", which means none.
	LargeBodies string
	// MaxOutboundBody is the maximum size in bytes of the response body of an outbound
	// request; a larger one fails that request. Default 32 MiB.
	MaxOutboundBody int64
	// Wrap wraps the transport of outbound requests. Default none.
	Wrap func(http.RoundTripper) http.RoundTripper
	// HealthChecks are URLs of health checks of servers that the component calls, one for
	// each server. While a call waits for such a server, the host requests the URL. Any
	// response is a success. After two failures in a row the calls that wait fail, and so do
	// new ones, at once, until a check succeeds. StrictSpin has no health checks. Default
	// none.
	HealthChecks []string
	// HealthTimeout bounds a health check. Default 500 ms.
	HealthTimeout time.Duration
	// MaxMemory is the maximum memory of an instance in bytes, rounded down to 64 KiB.
	// Default 64 MiB.
	MaxMemory int64

	// CacheDir is the folder that keeps compiled code between starts. Default "", which keeps none.
	CacheDir string
	// Now is the clock of the guest. Default time.Now.
	Now func() time.Time
	// Log receives the guest's output and the reasons why instances were dropped.
	// Default slog.Default().
	Log *slog.Logger

	// now is the clock of Timeout. Default time.Now.
	now func() time.Time
	// withTimeout measures HealthTimeout. Default context.WithTimeout.
	withTimeout func(context.Context, time.Duration) (context.Context, context.CancelFunc)
}

const (
	kib = 1 << 10
	mib = 1 << 20

	wasmPage = 64 * kib
)

func orDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

func (o Options) withDefaults() Options {
	o.Fresh = o.Fresh || o.StrictSpin
	orDefault(&o.Instances, 64)
	orDefault(&o.Queue, 256)
	orDefault(&o.Timeout, 10*time.Second)
	orDefault(&o.MaxBody, 16*mib)
	orDefault(&o.NamedMaxBody, o.MaxBody)
	orDefault(&o.MaxOutboundBody, 32*mib)
	orDefault(&o.HealthTimeout, 500*time.Millisecond)
	orDefault(&o.MaxMemory, 64*mib)
	if o.ReadFile == nil {
		o.ReadFile = os.ReadFile
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.withTimeout == nil {
		o.withTimeout = context.WithTimeout
	}
	return o
}
