package e2e

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
)

// powerCut discards what a database server wrote and did not make durable, as a power cut
// does. A preloaded library records the server's writes; see testdata/powercut.
type powerCut struct {
	dir, log string
	env      []string
	// base has the files when the server was started.
	base map[string][]byte
}

func newPowerCut(t *testing.T) *powerCut {
	t.Helper()
	folder := t.TempDir()
	library := filepath.Join(folder, "powercut.so")
	out, err := exec.Command("gcc", "-Wall", "-O1", "-shared", "-fPIC", "-o", library, "testdata/powercut/powercut.c").CombinedOutput()
	require.NoError(t, err, "compile the library; wasm/toolchain/setup.sh test installs a compiler: %s", out)
	log := filepath.Join(folder, "writes")
	return &powerCut{log: log, env: []string{"LD_PRELOAD=" + library, "POWERCUT_LOG=" + log}}
}

// The kinds of records; see testdata/powercut/powercut.c.
const (
	fileOpened = 1 + iota
	fileWritten
	fileTruncated
	fileSynced
	fileRenamed
	fileUnlinked
	fileUnknown
)

// diskFile is a file as the disk has it, and the changes that are not durable.
type diskFile struct {
	durable []byte
	pending []diskChange
}

type diskChange struct {
	truncate bool
	offset   uint64
	data     []byte
}

func (c diskChange) apply(to []byte) []byte {
	end := c.offset + uint64(len(c.data))
	if n := uint64(len(to)); n < end {
		to = append(to, make([]byte, end-n)...)
	}
	if c.truncate {
		return to[:c.offset]
	}
	copy(to[c.offset:], c.data)
	return to
}

// cut leaves of the server's files what is on the disk after a power cut. Each change that
// was not made durable survives with the given probability: a disk writes them in any
// order. The index of the write-ahead log (-shm) is not durable at all. The server must
// have been killed.
func (p *powerCut) cut(t *testing.T, random *rand.Rand, survives float64) (lost int) {
	t.Helper()
	files := map[string]*diskFile{}
	for name, content := range p.base {
		files[name] = &diskFile{durable: bytes.Clone(content)}
	}
	open, names := map[uint32]*diskFile{}, map[uint32]string{}
	log, err := os.ReadFile(p.log)
	require.NoError(t, err)
	for len(log) > 0 {
		require.GreaterOrEqual(t, len(log), 24)
		kind, id := binary.NativeEndian.Uint32(log), binary.NativeEndian.Uint32(log[4:])
		offset, length := binary.NativeEndian.Uint64(log[8:]), binary.NativeEndian.Uint64(log[16:])
		data := log[24 : 24+length]
		log = log[24+length:]
		f := open[id]
		switch kind {
		case fileOpened:
			name := string(data)
			if files[name] == nil {
				files[name] = &diskFile{}
			}
			open[id], names[id] = files[name], name
		case fileWritten:
			f.pending = append(f.pending, diskChange{offset: offset, data: data})
		case fileTruncated:
			f.pending = append(f.pending, diskChange{truncate: true, offset: offset})
		case fileSynced:
			for _, c := range f.pending {
				f.durable = c.apply(f.durable)
			}
			f.pending = nil
		case fileRenamed:
			from, to, _ := strings.Cut(string(data), "\x00")
			files[to] = files[from]
			delete(files, from)
		case fileUnlinked:
			delete(files, string(data))
		default:
			require.True(t, strings.HasSuffix(names[id], "-shm"), "the server changed %s by %s, which is not recorded", names[id], data)
		}
	}
	require.NoError(t, os.RemoveAll(p.dir))
	for name, f := range files {
		if strings.HasSuffix(name, "-shm") {
			continue
		}
		for _, c := range f.pending {
			if random.Float64() < survives {
				f.durable = c.apply(f.durable)
			} else {
				lost++
			}
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, f.durable, 0o600))
	}
	// The server makes neither its log for replicas nor its counters of requests durable,
	// and does not start if they are damaged. docs/fleet.md says to delete them: it
	// writes them again.
	for _, name := range []string{"wallog", "stats.json"} {
		require.NoError(t, os.Remove(filepath.Join(p.dir, "dbs", "default", name)))
	}
	p.snapshot(t)
	return lost
}

// snapshot takes the files as durable: before the server is started.
func (p *powerCut) snapshot(t *testing.T) {
	t.Helper()
	p.base = map[string][]byte{}
	err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		p.base[path], err = os.ReadFile(path)
		return err
	})
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(p.log))
}

// Guarantee: with the setting of docs/fleet.md, no acknowledged write is lost when the
// primary's machine loses power; without it, some are.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for _, durable := range []bool{false, true} {
		t.Run(fmt.Sprintf("durable=%v", durable), func(t *testing.T) {
			t.Parallel()
			p := newPowerCut(t)
			data, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			p.dir = filepath.Join(data, "primary", "db")
			c := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1, Durable: durable, Dir: data, Env: append(p.env, "POWERCUT_DIR="+p.dir)})
			s := newSite(t)
			s.backendDatabase, s.edgeDatabase = c.PrimaryURL(), c.ReplicaURL()
			s.createTenant(t, "demo", "--landing-url", "https://shop.example/")
			s.serve(t)
			s.identify(t, s.backend, "demo", "anna", `{}`)
			c.WaitForSync(t)
			// The kernel has written what is older than 30 seconds, such as the files that
			// the server creates at its first start and does not sync.
			c.KillPrimary(t)
			p.snapshot(t)
			c.StartPrimary(t)
			s.serveEdge(t)
			random := rand.New(rand.NewPCG(24, 12))
			sending := (&stream{s: s, perCall: 2, retry: true, waits: true}).begin(8)
			cut := func(survives float64) {
				before := sending.calls()
				await(t, func() error {
					if n := sending.calls() - before; n < 100 {
						return fmt.Errorf("%d calls were accepted", n)
					}
					return nil
				})
				c.KillPrimary(t)
				t.Logf("%d changes of files were lost, each survived with probability %.1f", p.cut(t, random, survives), survives)
				c.StartPrimary(t)
			}
			if !durable {
				cut(0)
				sending.ended.Store(true)
				accepted := sending.calls()
				stored, err := scalar(s.open(t), `SELECT count(*) FROM intake`)
				t.Logf("%d calls were accepted, %d are stored: %v", accepted, stored, err)
				require.True(t, err != nil || stored < accepted, "the power cut lost nothing")
				return
			}
			for _, survives := range []float64{0, 0.5, 0.9, 0} {
				cut(survives)
				require.Equal(t, 2, number(t, s.open(t), `PRAGMA synchronous`), "the setting survives, too")
			}
			sending.end(t)
			db := s.open(t)
			waitProcessed(t, db)
			sending.requireProcessedOnce(t, db)
			events := number(t, db, `SELECT count(*) FROM event`)
			// A replica seldom stays broken after that: the server then answers each query with
			// an error, until it has no folder, as docs/fleet.md says.
			c.StopReplica(t)
			require.NoError(t, os.RemoveAll(filepath.Join(data, "replica0", "db")))
			c.StartReplica(t)
			c.WaitForSync(t)
			s.backendDatabase = c.ReplicaURL()
			await(t, func() error {
				replica := s.open(t)
				defer replica.Close()
				if n, err := scalar(replica, `SELECT count(*) FROM event`); err != nil || n != events {
					return fmt.Errorf("the replica has %d of %d events: %w", n, events, err)
				}
				return nil
			})
		})
	}
}

// The command of docs/fleet.md and of the deployment examples removes the files that a
// power cut may damage at the first start after a boot, and only then: otherwise each restart
// of the primary would make the replicas copy the whole database.
func TestPowerCut_CommandAtStart(t *testing.T) {
	t.Parallel()
	const folder = "/var/lib/sqld"
	command := regexp.MustCompile(`(?s)cd ` + folder + ` && .*?>boot; }`)
	for _, file := range []string{"docs/fleet.md", "deploy/compose/fleet.yaml", "deploy/helm/kith/templates/primary.yaml"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		found := command.FindString(string(text))
		require.NotEmpty(t, found, file)
		dir := t.TempDir()
		database := filepath.Join(dir, "dbs", "default")
		require.NoError(t, os.MkdirAll(database, 0o700))
		start := func(boot string) (left []string) {
			if boot != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, "boot"), []byte(boot), 0o600))
			}
			for _, name := range []string{"data", "stats.json", "wallog"} {
				require.NoError(t, os.WriteFile(filepath.Join(database, name), nil, 0o600))
			}
			run := strings.Join(strings.Fields(strings.ReplaceAll(found, folder, dir)), " ")
			out, err := exec.Command("/bin/sh", "-c", run).CombinedOutput() // #nosec G204 -- the command under test
			require.NoError(t, err, "%s: %s", file, out)
			entries, err := os.ReadDir(database)
			require.NoError(t, err)
			for _, e := range entries {
				left = append(left, e.Name())
			}
			return left
		}
		require.Equal(t, []string{"data"}, start(""), "%s: the first start", file)
		require.Equal(t, []string{"data", "stats.json", "wallog"}, start(""), "%s: a restart", file)
		require.Equal(t, []string{"data"}, start("another boot"), "%s: after a boot", file)
	}
}

// scalar runs a query for one number that may fail.
func scalar(db *sql.DB, query string) (n int, err error) {
	err = db.QueryRow(query).Scan(&n)
	return n, err
}
