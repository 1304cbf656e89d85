package e2e

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stream sends event calls with distinct keys from several senders until end is called.
// Each event has its call's key as its name, so that stored events can be identified.
type stream struct {
	s       *site
	perCall int // events in a call
	retry   bool
	// waits makes senders also repeat calls that were answered with 503.
	waits bool

	ended atomic.Bool
	done  sync.WaitGroup

	mu sync.Mutex
	// accepted has the ids of the events of calls that were answered with 200, by the
	// key of the call. kept has the keys that were answered with 409 at a retry.
	accepted map[string][]string
	kept     map[string]bool
	err      error
}

func (s *site) stream(senders, perCall int, retry bool) *stream {
	return (&stream{s: s, perCall: perCall, retry: retry}).begin(senders)
}

func (st *stream) begin(senders int) *stream {
	st.accepted, st.kept = map[string][]string{}, map[string]bool{}
	for sender := range senders {
		st.done.Go(func() {
			for i := 0; !st.ended.Load(); i++ {
				if err := st.send(fmt.Sprintf("key-%d-%d.x", sender, i)); err != nil {
					st.mu.Lock()
					st.err = errors.Join(st.err, err)
					st.mu.Unlock()
					return
				}
			}
		})
	}
	return st
}

// end stops the senders after their current calls.
func (st *stream) end(t *testing.T) {
	t.Helper()
	st.ended.Store(true)
	st.done.Wait()
	require.NoError(t, st.err)
}

func (st *stream) calls() int {
	st.mu.Lock()
	defer st.mu.Unlock()
	return len(st.accepted)
}

// send sends one call, and with retry repeats it until it is answered.
func (st *stream) send(key string) error {
	event := `{"key":"` + key + `"}`
	body := `{"idempotencyKey":"` + key + `","events":[` + event + strings.Repeat(","+event, st.perCall-1) + `]}`
	for tries := 0; ; tries++ {
		a, err := st.s.sendEvents(st.s.edge, "demo", "anna", body)
		switch {
		case err == nil && st.waits && a.status == http.StatusServiceUnavailable, err != nil && st.retry:
			if st.ended.Load() {
				return nil // the call has no answer
			}
			time.Sleep(time.Millisecond)
			continue
		case err != nil:
			return err
		case a.status == http.StatusOK:
			var answer logged
			if answer, err = decoded[logged](a); err != nil {
				return err
			}
			st.mu.Lock()
			for _, e := range answer.Events {
				st.accepted[key] = append(st.accepted[key], e.ID)
			}
			st.mu.Unlock()
			return nil
		case a.status == http.StatusConflict && tries > 0:
			// The call whose connection broke had been stored.
			st.mu.Lock()
			st.kept[key] = true
			st.mu.Unlock()
			return nil
		}
		return fmt.Errorf("%s: %d %s", key, a.status, a.body)
	}
}

// requireProcessedOnce checks that each accepted event was processed once.
func (st *stream) requireProcessedOnce(t *testing.T, db *sql.DB) {
	t.Helper()
	processed := map[string][]string{}
	rows, err := db.Query(`SELECT key, id FROM event ORDER BY key, id`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var key, id string
		require.NoError(t, rows.Scan(&key, &id))
		processed[key] = append(processed[key], id)
	}
	require.NoError(t, rows.Err())
	for key, ids := range st.accepted {
		require.ElementsMatch(t, ids, processed[key], key)
	}
	for key := range st.kept {
		require.Len(t, processed[key], st.perCall, key)
	}
	if !st.retry {
		require.Len(t, processed, len(st.accepted), "no other events were processed")
	}
	t.Logf("%d calls accepted, %d found accepted at a retry", len(st.accepted), len(st.kept))
}

// demoFiles are the files and keys of a site with the tenant demo. Each test gets a copy: to
// migrate a new database takes half a second of a processor.
var demoFiles struct {
	sync.Mutex
	files map[string][]byte
	keys  map[string]string
}

// ownKeySite is a demoSite with a master key of its own: those of demoSite have the same.
func ownKeySite(t testing.TB) *site {
	t.Helper()
	s := newSite(t)
	s.createTenant(t, "demo", "--landing-url", "https://shop.example/")
	return s
}

// demoSite returns a site with the tenant demo, whose processes are not started yet.
func demoSite(t testing.TB) *site {
	t.Helper()
	d := &demoFiles
	d.Lock()
	defer d.Unlock()
	if d.files == nil {
		s := ownKeySite(t)
		files := map[string][]byte{}
		entries, err := os.ReadDir(s.data)
		require.NoError(t, err)
		for _, e := range entries {
			require.True(t, e.Type().IsRegular(), e.Name())
			files[e.Name()], err = os.ReadFile(filepath.Join(s.data, e.Name()))
			require.NoError(t, err)
		}
		d.files, d.keys = files, maps.Clone(s.keys)
		return s
	}
	s := newSite(t)
	for name, content := range d.files {
		require.NoError(t, os.WriteFile(filepath.Join(s.data, name), content, 0o600))
	}
	maps.Copy(s.keys, d.keys)
	return s
}

// Every accepted event is processed exactly once, whenever the backend is killed: senders
// continue while it is killed in the middle of its work and started again.
func TestKillBackend_EveryAcceptedEventIsProcessedOnce(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	backend := s.serve(t)
	s.identify(t, s.backend, "demo", "anna", `{}`)
	backend.kill()
	s.serveEdge(t)
	db := s.open(t)
	sending := s.stream(4, 8, false)
	for range 6 {
		// While it is down, work piles up for it.
		behind := sending.calls()
		await(t, func() error {
			if n := sending.calls() - behind; n < 600 {
				return fmt.Errorf("%d calls were accepted", n)
			}
			return nil
		})
		before := number(t, db, `SELECT seq FROM intake_cursor`)
		backend = s.launch(t, nil, "serve")
		backend.killWhen(t, func() error {
			if n, err := tryNumber(db, `SELECT seq FROM intake_cursor`); err != nil || n == before {
				return fmt.Errorf("no event was processed, %v", err)
			}
			if n, err := tryNumber(db, `SELECT EXISTS (SELECT 1 FROM intake WHERE seq > (SELECT seq FROM intake_cursor))`); err != nil || n == 0 {
				return fmt.Errorf("no event is left to process, %v", err)
			}
			return nil
		})
	}
	sending.end(t)
	s.serve(t)
	waitProcessed(t, db)
	sending.requireProcessedOnce(t, db)
}

// Events that the edge answered with 200 are stored, whenever the edge is killed. A sender
// whose connection broke repeats the call with the same key, and no event is stored twice.
func TestKillEdge_EveryAnsweredEventIsStored(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	s.identify(t, s.backend, "demo", "anna", `{}`)
	edge := s.serveEdge(t)
	db := s.open(t)
	sending := s.stream(8, 2, true)
	for range 5 {
		before := sending.calls()
		await(t, func() error {
			if sending.calls() < before+100 {
				return errors.New("the edge accepts nothing")
			}
			return nil
		})
		edge.kill()
		edge = s.serveEdge(t)
	}
	sending.end(t)
	waitProcessed(t, db)
	sending.requireProcessedOnce(t, db)
}

// After SIGTERM all accepted events are processed before the backend exits with status 0,
// although senders do not stop.
func TestStopBackend_LeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	backend := s.serve(t)
	s.identify(t, s.backend, "demo", "anna", `{}`)
	s.edge = s.backend // the senders call the backend
	sending := s.stream(4, 2, true)
	await(t, func() error {
		if sending.calls() < 200 {
			return errors.New("the backend accepts nothing")
		}
		return nil
	})
	backend.stop(t)
	sending.end(t)
	db := s.open(t)
	require.Zero(t, number(t, db, `SELECT count(*) FROM intake WHERE seq > (SELECT seq FROM intake_cursor)`))
	sending.requireProcessedOnce(t, db)
	require.Contains(t, backend.log(t), "backend stopped")
}

// The same for edge and backend in one process: the edge stops first, so that the backend
// processes everything that the edge has stored.
func TestStopDev_LeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	node := s.dev(t)
	sending := s.stream(4, 2, true)
	await(t, func() error {
		if sending.calls() < 200 {
			return errors.New("the edge accepts nothing")
		}
		return nil
	})
	node.stop(t)
	sending.end(t)
	db := s.open(t)
	require.Zero(t, number(t, db, `SELECT count(*) FROM intake WHERE seq > (SELECT seq FROM intake_cursor)`))
	sending.requireProcessedOnce(t, db)
}

// After SIGTERM the process answers the requests that it is receiving, accepts no others,
// and exits.
func TestStop_AnswersRunningRequests(t *testing.T) {
	t.Parallel()
	for _, part := range []struct {
		name  string
		start func(*testing.T, *site) (p *process, base string)
	}{
		{"backend", func(t *testing.T, s *site) (*process, string) { return s.serve(t), s.backend }},
		{"edge", func(t *testing.T, s *site) (*process, string) {
			s.serve(t)
			return s.serveEdge(t), s.edge
		}},
		{"dev", func(t *testing.T, s *site) (*process, string) { return s.dev(t), s.edge }},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			if part.name != "dev" {
				s.createTenant(t, "demo", "--landing-url", "https://shop.example/")
			}
			p, base := part.start(t, s)
			s.identify(t, base, "demo", "anna", `{}`)
			requests := map[string]string{
				"/open/account/anna/user/anna/events": `{"events":[{"key":"visit"}]}`,
				"/accountsync":                        `{"id":"ben"}`,
			}
			var answers []func() answer
			for path, body := range requests {
				answers = append(answers, s.begin(t, base, path, body))
			}
			require.NoError(t, p.command.Process.Signal(syscall.SIGTERM))
			await(t, func() error {
				c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
				if err == nil {
					c.Close()
					return errors.New("it still accepts requests")
				}
				return nil
			})
			for _, finish := range answers {
				a := finish()
				require.Equal(t, http.StatusOK, a.status, a.body)
			}
			require.NoError(t, p.command.Wait(), p.output)
			if part.name == "edge" {
				return
			}
			require.Equal(t, 1, number(t, s.open(t), `SELECT count(*) FROM event`))
		})
	}
}

// begin sends a request without the last byte of its body; the returned function sends
// that byte and reads the answer.
func (s *site) begin(t *testing.T, base, path, body string) func() answer {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(deadline)))
	_, err = fmt.Fprintf(c, "POST /api/v1/demo%s HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n",
		path, s.auth("demo"), len(body))
	require.NoError(t, err)
	in := bufio.NewReader(c)
	// The server requests the body once it handles the request.
	response, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusContinue, response.StatusCode)
	_, err = io.WriteString(c, body[:len(body)-1])
	require.NoError(t, err)
	return func() answer {
		_, err := io.WriteString(c, body[len(body)-1:])
		require.NoError(t, err)
		return readAnswer(t, in, "POST")
	}
}
