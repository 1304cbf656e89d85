package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"kith/backend/api"
	"kith/backend/app/base"
	"kith/backend/guess"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/wire"
	"kith/edge/route"
)

// connectionFlags limit the connections, guesses and waits of clients of edge and backend.
type connectionFlags struct {
	TrustedProxies string `env:"KITH_TRUSTED_PROXIES" help:"Networks of your reverse proxies, such as 10.0.0.0/8,192.0.2.7. X-Forwarded-For, -Proto and -Host are read from them only. Default: none." placeholder:"CIDR,..."`
	MaxConnections uint   `env:"KITH_MAX_CONNECTIONS" default:"256" help:"Most open connections of one client address (IPv6: /64 network). Trusted proxies and this machine have no limit. 0 is no limit."`
	RateLimit      uint   `env:"KITH_RATE_LIMIT" default:"600" help:"Most attempts per minute of one public network (/24, IPv6 /56) to guess codes, keys or ids of live tenants. 0 is no limit."`

	ClockTolerance time.Duration `env:"KITH_CLOCK_TOLERANCE" default:"5m" help:"Most that the clocks of an edge and a backend may differ. Beyond it the backend refuses what the edge forwards, and the edge is not ready."`
	timeoutFlags
}

// timeoutFlags limit how long callers wait for a part that is away or hangs.
type timeoutFlags struct {
	WriteTimeout  time.Duration `env:"KITH_WRITE_TIMEOUT" default:"1500ms" help:"Longest time that an event call waits to be stored. After it the answer is 503."`
	HealthTimeout time.Duration `env:"KITH_HEALTH_TIMEOUT" default:"500ms" help:"Longest time of a health check, which is made while calls wait: by an edge of its backend, by a backend of its database server. After two failures calls are answered with 503 at once, until a check succeeds."`
}

// check returns an error for a limit that no call could meet.
func (f timeoutFlags) check() error {
	switch {
	case f.WriteTimeout <= 0:
		return core.Invalid("write-timeout", "must be more than 0")
	case f.HealthTimeout <= 0:
		return core.Invalid("health-timeout", "must be more than 0")
	}
	return nil
}

// check returns an error for values that edge and backend cannot use.
func (f connectionFlags) check() error {
	_, _, err := f.parse()
	return errors.Join(err, f.timeoutFlags.check())
}

// parse returns the networks of the trusted proxies, and the tolerance of clocks.
func (f connectionFlags) parse() (trusted auth.Networks, tolerance core.Time, err error) {
	trusted, err = f.proxies()
	tolerance, toleranceErr := f.clockTolerance()
	return trusted, tolerance, errors.Join(err, toleranceErr)
}

// clockTolerance returns the tolerance in the unit of the core; 0 is the default.
func (f connectionFlags) clockTolerance() (core.Time, error) {
	if f.ClockTolerance == 0 {
		return auth.ClockTolerance, nil
	}
	if f.ClockTolerance < time.Millisecond {
		return 0, core.Invalid("clock-tolerance", "must be 1ms or more, such as 5m")
	}
	return core.Time(f.ClockTolerance.Milliseconds()), nil
}

// proxies returns the networks of the trusted proxies.
func (f connectionFlags) proxies() (auth.Networks, error) {
	if os.Getenv("KITH_TRUST_PROXY") != "" {
		return nil, core.Invalid("KITH_TRUST_PROXY", "is no longer read; remove it and list the networks of your proxies in KITH_TRUSTED_PROXIES, such as 127.0.0.1 or 10.0.0.0/8")
	}
	return auth.ParseNetworks("trusted-proxies", f.TrustedProxies)
}

// limit limits the connections of a listener by client address.
func (f connectionFlags) limit(l net.Listener, trusted auth.Networks) net.Listener {
	if f.MaxConnections == 0 {
		return l
	}
	exempt := func(a netip.Addr) bool { return a.IsLoopback() || trusted.Contain(a) }
	return &limitedListener{Listener: l, most: int(f.MaxConnections), exempt: exempt, open: map[netip.Prefix]int{}}
}

// limitedListener closes new connections of an address that has the most allowed.
type limitedListener struct {
	net.Listener
	most   int
	exempt func(netip.Addr) bool

	mu   sync.Mutex
	open map[netip.Prefix]int
}

// Accept returns the next connection that is within the limit.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		addr, ok := auth.ParseAddress(c.RemoteAddr().String())
		if !ok || l.exempt(addr) {
			return c, nil
		}
		bits := 64
		if addr.Is4() {
			bits = 32
		}
		of := netip.PrefixFrom(addr, bits).Masked()
		if l.enter(of) {
			return &countedConn{Conn: c, leave: sync.OnceFunc(func() { l.leave(of) })}, nil
		}
		_ = c.Close()
	}
}

func (l *limitedListener) enter(of netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[of] >= l.most {
		return false
	}
	l.open[of]++
	return true
}

func (l *limitedListener) leave(of netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[of]--; l.open[of] == 0 {
		delete(l.open, of)
	}
}

type countedConn struct {
	net.Conn
	leave func()
}

// Close closes the connection, which then no longer counts.
func (c *countedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// limitGuesses counts attempts to guess, which the responses of an edge report. Once a
// network has reached its limit, its share links and open look-ups of live tenants, and its
// pages with a code, are refused before they reach the component, whether the code exists or
// not: the replica would answer those that exist. The backend refuses all other attempts; a
// request header makes the component forward them instead of reading the replica.
func limitGuesses(limit *guess.Limiter, trusted auth.Networks, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client, _ := auth.Client(r.RemoteAddr, strings.Join(r.Header.Values(auth.ForwardedForHeader), ","), trusted)
		if limit.Exhausted(client) {
			if looksUp(r) {
				writeFailure(w, &core.Error{Code: core.CodeRateLimited, RS: "RS033", Message: api.TooManyGuesses(limit.PerMinute())})
				return
			}
			r.Header.Set(auth.GuessesHeader, "0")
		} else {
			delete(r.Header, guessesHeader)
		}
		next.ServeHTTP(&guessWriter{w, limit, client}, r)
	})
}

// guessesHeader is the name of auth.GuessesHeader as http.Header has it.
var guessesHeader = http.CanonicalHeaderKey(auth.GuessesHeader)

// looksUp reports whether a request looks up a code without credentials, of a tenant that may
// be a live one.
func looksUp(r *http.Request) bool {
	to := route.Parse(r.Method, r.URL.EscapedPath())
	switch to.Kind {
	case route.ShareLink, route.OpenCode:
		return base.Live(to.Tenant)
	case route.Page:
		_, carried := link.Carried(r.URL.RawQuery)
		return carried
	}
	return false
}

func writeFailure(w http.ResponseWriter, err error) {
	status, body := wire.Failure(err)
	w.Header().Set("Content-Type", wire.JSONType)
	w.Header().Set("Cache-Control", wire.CacheControl)
	w.Header().Set("Retry-After", wire.RetryAfter(status))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// guessWriter removes auth.GuessesHeader from a response and counts its value.
type guessWriter struct {
	http.ResponseWriter
	limit  *guess.Limiter
	client netip.Addr
}

// WriteHeader counts the guesses of the header, removes it, and sends the others.
func (g *guessWriter) WriteHeader(status int) {
	if header := g.Header(); len(header[guessesHeader]) > 0 {
		if n, err := strconv.Atoi(header[guessesHeader][0]); err == nil && n > 0 {
			g.limit.Count(g.client, n)
		}
		delete(header, guessesHeader)
	}
	g.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (g *guessWriter) Unwrap() http.ResponseWriter { return g.ResponseWriter }

// jsonListener turns the plain-text errors of net/http into JSON: those that it sends
// before it calls a handler, for invalid HTTP, such as a path with %zz, and for headers
// that are too large. net/http has no hook for them.
type jsonListener struct{ net.Listener }

// Accept returns the next connection.
func (l jsonListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return jsonConn{c}, nil
}

type jsonConn struct{ net.Conn }

// plainError follows the status line of net/http's own errors. The response of a
// handler never has it, because it has a Date.
var plainError = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

// Write sends net/http's own errors, each of which is one write, as JSON.
func (c jsonConn) Write(b []byte) (int, error) {
	line, _, found := bytes.Cut(b, plainError)
	if !found || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) || bytes.Contains(line, []byte("\n")) {
		return c.Conn.Write(b)
	}
	if _, err := c.Conn.Write(jsonError(string(line[len("HTTP/1.1 "):]))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// jsonError returns the response for a status of net/http, such as "400 Bad Request:
// missing required Host header". The request is unknown, so the response does not
// depend on it, and pages of any origin may read it.
func jsonError(status string) []byte {
	number, _, _ := strings.Cut(status, " ")
	code, _ := strconv.Atoi(number)
	message, word := "the request is not valid HTTP ("+status+"); check the path and the headers: a path has %25 for %", "BAD_REQUEST"
	if code == 431 {
		message, word = fmt.Sprintf("headers: must not have more than %d KiB together; send fewer or shorter ones", maxHeader>>10), "HEADERS_TOO_LARGE"
	}
	text, _ := json.Marshal(message)
	body := fmt.Sprintf(`{"message":%s,"statusCode":%d,"apiErrorCode":"%s"}`, text, code, word)
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nCache-Control: private, no-store\r\n"+
		"Access-Control-Allow-Origin: *\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", status, len(body), body)
}
