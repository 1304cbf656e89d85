package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/testenv"
)

// Other programs open, read, write and close the database file of a running kith, hundreds
// of times, beside load and kill -9. Nothing that was acknowledged is lost, an idempotency
// key is accepted once, and no file is deleted under a process that writes to it.
func TestOtherPrograms(t *testing.T) {
	t.Parallel()
	opened := 30
	if testenv.Whole() {
		opened = 100
	}
	for name, start := range map[string]func(*testing.T, *site) []*process{
		"dev":              func(t *testing.T, s *site) []*process { return []*process{s.dev(t)} },
		"backend and edge": func(t *testing.T, s *site) []*process { return []*process{s.serve(t), s.serveEdge(t)} },
		"edge as in Spin": func(t *testing.T, s *site) []*process {
			return []*process{s.serve(t), s.serveEdge(t, "KITH_STRICT_SPIN=true")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			if name != "dev" {
				s.createTenant(t, "demo", "--landing-url", "https://shop.example/")
			}
			running := start(t, s)
			s.identify(t, s.backend, "demo", "anna", `{}`)
			// Until a first check has moved it there, the log may have most of the data.
			requireRuns(t, exec.Command("sqlite3", s.file(), "SELECT count(*) FROM tenant"))
			others, load := s.others(t), s.acknowledged(4)
			for kill := 1; kill <= 3; kill++ {
				awaitCount(t, &others.opened, kill*opened, others.failure)
				for _, p := range running {
					requireHasItsFiles(t, p)
				}
				for _, p := range running {
					p.kill()
				}
				running = start(t, s)
			}
			s.commands(t)
			others.end(t)
			load.end()
			for _, p := range running {
				requireHasItsFiles(t, p)
				p.kill()
			}
			load.requireStored(t)
		})
	}
}

// requireRuns fails if a command fails, and returns its output.
func requireRuns(t testing.TB, c *exec.Cmd) string {
	t.Helper()
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s: %s", c, out)
	return string(out)
}

// awaitCount waits until a count is n, and fails if failure returns an error meanwhile.
func awaitCount(t *testing.T, count *atomic.Int64, n int, failure func() error) {
	t.Helper()
	await(t, func() error {
		require.NoError(t, failure())
		if now := count.Load(); now < int64(n) {
			return fmt.Errorf("%d of %d", now, n)
		}
		return nil
	})
}

// requireHasItsFiles fails if a process has a file of the database open that is not at its
// path, which the kernel calls deleted.
func requireHasItsFiles(t *testing.T, p *process) {
	t.Helper()
	folder := fmt.Sprintf("/proc/%d/fd", p.command.Process.Pid)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	found := 0
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(folder, e.Name()))
		if err == nil && strings.Contains(target, "kith.db") { // it may just have been closed
			require.NotContains(t, target, "(deleted)")
			found++
		}
	}
	require.Positive(t, found)
}

// others are other programs that open and close a database file.
type others struct {
	opened atomic.Int64
	ended  atomic.Bool
	done   sync.WaitGroup
	failed atomic.Pointer[error]
}

// python opens, reads, writes and closes a database 10 times, with Python's SQLite.
const python = `
import sqlite3, sys
for i in range(10):
    db = sqlite3.connect(sys.argv[1], timeout=120, isolation_level=None)
    db.execute("SELECT count(*) FROM tenant").fetchone()
    if i % 2:
        db.execute("UPDATE readiness SET checked_at = checked_at")
    db.close()
`

// otherPath runs the command of its further arguments with the path of the database in
// another folder, in which its folder is mounted: as another container has it.
const otherPath = `mount --bind "$0" "$1" && cd "$1" && shift && exec "$@" kith.db`

// others starts the other programs: the sqlite3 command, Python, Python in another mount
// namespace, and kith's own commands.
func (s *site) others(t *testing.T) *others {
	t.Helper()
	o := &others{}
	mounted := []string{"--mount", "sh", "-c", otherPath, s.data, t.TempDir(), "python3", "-c", python}
	if os.Getuid() != 0 {
		mounted = append([]string{"--user", "--map-root-user"}, mounted...)
	}
	for _, program := range []struct {
		opens   int
		command func() *exec.Cmd
	}{
		{1, func() *exec.Cmd {
			return exec.Command("sqlite3", "-cmd", ".timeout 120000", s.file(), "SELECT count(*) FROM tenant; UPDATE readiness SET checked_at = checked_at;")
		}},
		{10, func() *exec.Cmd { return exec.Command("python3", "-c", python, s.file()) }},
		{10, func() *exec.Cmd { return exec.Command("unshare", mounted...) }},
		{1, func() *exec.Cmd { return s.command(t, "key", "list", "demo") }},
	} {
		o.done.Go(func() {
			for !o.ended.Load() {
				c := program.command()
				if out, err := c.CombinedOutput(); err != nil {
					err = fmt.Errorf("%s: %w: %s", c, err, out)
					o.failed.CompareAndSwap(nil, &err)
					return
				}
				o.opened.Add(int64(program.opens))
			}
		})
	}
	return o
}

func (o *others) failure() error {
	if err := o.failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (o *others) end(t *testing.T) {
	t.Helper()
	o.ended.Store(true)
	o.done.Wait()
	require.NoError(t, o.failure())
	t.Logf("the file was opened %d times", o.opened.Load())
}

// commands runs the commands that an operator runs beside a service.
func (s *site) commands(t *testing.T) {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "kith.tar.gz")
	for _, args := range [][]string{{"backup", archive}, {"restore", "--drill", archive}, {"key", "list", "demo"}} {
		_, errOut, status := s.run(t, nil, args...)
		require.Zero(t, status, "%s: %s", args, errOut)
	}
	out, _, _ := s.run(t, nil, "doctor") // it may find problems of the site, such as its addresses
	require.Contains(t, out, "ok    database")
	require.Contains(t, out, "ok    integrity")
}

// acknowledged are writes that were acknowledged while processes were killed.
type acknowledged struct {
	s     *site
	ended atomic.Bool
	done  sync.WaitGroup

	mu    sync.Mutex
	users []string
	// events has the ids of the events of each accepted call, by its key.
	events map[string][]string
	// other are the statuses of the other answers, with one of the answers.
	other map[int]string
}

// acknowledged starts writers. Each makes users; all of them send the same event calls.
func (s *site) acknowledged(writers int) *acknowledged {
	a := &acknowledged{s: s, events: map[string][]string{}, other: map[int]string{}}
	for w := range writers {
		a.done.Go(func() {
			for n := 0; !a.ended.Load(); n++ {
				a.user(fmt.Sprintf("user-%d-%d", w, n))
				a.event(fmt.Sprintf("call-%06d", n))
			}
		})
	}
	return a
}

func (a *acknowledged) user(id string) {
	answer, err := call("PUT", a.s.edge+"/api/v1/demo/open/account/"+id+"/user/"+id, `{}`, a.s.auth("demo"))
	if err == nil {
		a.add(answer, func() { a.users = append(a.users, id) })
	}
}

func (a *acknowledged) event(key string) {
	answer, err := a.s.sendEvents(a.s.edge, "demo", "anna", `{"idempotencyKey":"`+key+`","events":[{"key":"`+key+`"}]}`)
	if err == nil {
		events, bad := decoded[logged](answer)
		a.add(answer, func() {
			if bad != nil || len(events.Events) != 1 {
				a.other[0] = answer.body
				return
			}
			a.events[key] = append(a.events[key], events.Events[0].ID)
		})
	}
}

// add counts an answer: with kept, if it acknowledges the write.
func (a *acknowledged) add(answer answer, kept func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if answer.status == http.StatusOK {
		kept()
		return
	}
	a.other[answer.status] = answer.body
}

func (a *acknowledged) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.users)
}

func (a *acknowledged) end() {
	a.ended.Store(true)
	a.done.Wait()
}

// A file of two processes is deleted under load. Neither starts again beside the copies
// that both have saved; with the newest one in place of the database, everything is there
// that either had acknowledged.
func TestOtherPrograms_DeleteUnderTwoProcesses(t *testing.T) {
	t.Parallel()
	for _, deleted := range []string{"", "-wal", "-shm"} {
		t.Run("kith.db"+deleted, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.createTenant(t, "demo", "--landing-url", "https://shop.example/")
			running := []*process{s.serve(t), s.serveEdge(t)}
			s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
			load := s.acknowledged(4)
			await(t, func() error {
				if n := load.count(); n < 50 {
					return fmt.Errorf("%d users", n)
				}
				return nil
			})
			require.NoError(t, os.Remove(s.file()+deleted))
			for _, p := range running {
				p.waitLog(t, "what was stored before a file was lost is saved")
			}
			load.end()
			for range 20 {
				mustCall(t, http.StatusFound, "GET", s.edge+linkPath, "", visitor...)
			}
			for _, command := range []string{"serve", "edge", "doctor"} {
				out, errOut, status := s.run(t, []string{"KITH_BACKEND_URL=" + s.backend, "KITH_DATABASE_URL="}, command)
				require.NotZero(t, status)
				require.Contains(t, out+errOut, "put the newest kith.db-saved-* of them back as kith.db, and start")
			}
			for _, p := range running {
				p.kill()
			}
			away := t.TempDir()
			files, err := filepath.Glob(s.file() + "*")
			require.NoError(t, err)
			for _, file := range files {
				require.NoError(t, os.Rename(file, filepath.Join(away, filepath.Base(file))))
			}
			copies, err := filepath.Glob(filepath.Join(away, "kith.db-saved-*"))
			require.NoError(t, err)
			require.Len(t, copies, 2)
			require.NoError(t, os.Rename(copies[1], s.file()))
			load.requireStored(t)
		})
	}
}

// requireStored starts the backend once more, and checks what is stored.
func (a *acknowledged) requireStored(t *testing.T) {
	t.Helper()
	// Another writer was first, or a part was being killed.
	for _, expected := range []int{http.StatusConflict, http.StatusServiceUnavailable, http.StatusBadGateway} {
		delete(a.other, expected)
	}
	require.Empty(t, a.other)
	require.NotEmpty(t, a.users)
	require.NotEmpty(t, a.events)
	require.Equal(t, "ok\n", requireRuns(t, exec.Command("sqlite3", a.s.file(), "PRAGMA integrity_check")))
	a.s.serve(t)
	db := a.s.open(t)
	waitProcessed(t, db)
	require.Subset(t, texts(t, db, `SELECT id FROM user WHERE tenant = 'demo'`), a.users)
	stored := map[string][]string{}
	for _, row := range texts(t, db, `SELECT key || ' ' || id FROM event WHERE tenant = 'demo' AND key LIKE 'call-%'`) {
		key, id, _ := strings.Cut(row, " ")
		stored[key] = append(stored[key], id)
	}
	for key, ids := range stored {
		require.Len(t, ids, 1, "%s was accepted more than once", key)
	}
	for key, ids := range a.events {
		require.Equal(t, stored[key], ids, key)
	}
	t.Logf("%d users and %d events were acknowledged", len(a.users), len(a.events))
}

// What docs/operate.md says of the file of a running kith: SQLite copies all of it, cp does
// not; and when a file is deleted, kith refuses writes, is not ready, and what it stored is
// there after the next start.
func TestOtherPrograms_CopyAndDelete(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ops := "http://" + freeAddr(t)
	p := s.dev(t, "KITH_OPS_ADDR="+strings.TrimPrefix(ops, "http://"))
	s.identify(t, s.edge, "demo", "anna", `{}`)
	const count = "SELECT count(*) FROM user WHERE tenant = 'demo' AND id = 'anna'"

	folder := t.TempDir()
	for _, command := range []string{".backup " + folder + "/a.db", "VACUUM INTO '" + folder + "/b.db'"} {
		requireRuns(t, exec.Command("sqlite3", s.file(), command))
	}
	for _, name := range []string{"a.db", "b.db"} {
		require.Equal(t, "1\n", requireRuns(t, exec.Command("sqlite3", filepath.Join(folder, name), count)))
	}
	requireRuns(t, exec.Command("cp", s.file(), filepath.Join(folder, "c.db")))
	out, err := exec.Command("sqlite3", filepath.Join(folder, "c.db"), count).CombinedOutput()
	require.NotEqual(t, "1\n", string(out), "%v: the log has what cp has not copied", err)

	eventually(t, http.StatusOK, "GET", ops+"/readyz", "")
	require.NoError(t, os.Remove(s.file()+"-wal"))
	// A connection that is opened at this moment answers with an error of its own first.
	await(t, func() error {
		a, err := call("GET", ops+"/readyz", "")
		if err == nil && (a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "kith.db-wal was deleted, moved or replaced")) {
			err = fmt.Errorf("readyz: %d %s", a.status, a.body)
		}
		return err
	})
	for _, base := range []string{s.edge, s.backend} {
		mustCall(t, http.StatusServiceUnavailable, "PUT", base+"/api/v1/demo/open/account/ben/user/ben", `{}`, s.auth("demo"))
		a, err := s.sendEvents(base, "demo", "anna", `{"events":[{"key":"visit"}]}`)
		require.NoError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, a.status, a.body)
	}
	mustCall(t, http.StatusFound, "GET", s.edge+linkPath, "", visitor...)
	p.waitLog(t, "what was stored before a file was lost is in the database")
	p.stop(t)
	p = s.dev(t)
	mustCall(t, http.StatusOK, "GET", s.backend+"/api/v1/demo/open/account/anna/user/anna", "", s.auth("demo"))
	s.identify(t, s.edge, "demo", "ben", `{}`)
	p.stop(t)
	require.Equal(t, "ok\n", requireRuns(t, exec.Command("sqlite3", s.file(), "PRAGMA integrity_check")))
}
