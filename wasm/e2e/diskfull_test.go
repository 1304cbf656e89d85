package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// smallDisk mounts a file system of some bytes at a folder. It fails without the right to.
func smallDisk(t *testing.T, folder string, size int) {
	t.Helper()
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, syscall.Mount("tmpfs", folder, "tmpfs", 0, fmt.Sprintf("size=%d", size)), "run the tests as root, who may mount")
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(folder, syscall.MNT_DETACH)) })
}

// fill writes a file until the disk of a folder has no space, and returns its path.
func fill(t *testing.T, folder string) string {
	t.Helper()
	ballast, err := os.Create(filepath.Join(folder, "ballast"))
	require.NoError(t, err)
	defer ballast.Close()
	for size := 1 << 20; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = ballast.Write(make([]byte, size))
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
	}
	return ballast.Name()
}

// While the disk is full, an import waits and says so, and a backend that starts answers
// reads, is not ready, and answers events with 503. When there is space, the import
// completes by itself, each row once.
func TestDiskFull_ImportResumes(t *testing.T) {
	t.Parallel()
	const rows = 20_000
	s := newSite(t)
	smallDisk(t, s.data, 48<<20)
	s.createTenant(t, "demo", "--landing-url", "https://shop.example/")
	backend := s.serve(t, "KITH_JOB_LEASE=1s")
	s.identify(t, s.backend, "demo", "anna", `{}`)
	id := s.beginJob(t, "MUTATION/USER", "users.csv", userRows(0, rows))
	ballast := fill(t, s.data)
	await(t, func() error {
		j, err := s.client("demo").Job(t.Context(), id)
		if err == nil && !strings.Contains(j.Message, "disk of the service is full") {
			err = fmt.Errorf("the job is %+v", j)
		}
		return err
	})
	backend.kill()
	// The space that is left in the files of the database may not suffice for being ready.
	addr := freeAddr(t)
	ops := "http://" + addr
	again := s.start(t, ops+"/healthz", []string{"KITH_JOB_LEASE=1s", "KITH_OPS_ADDR=" + addr, "KITH_DATABASE_URL=" + s.backendDatabase}, "serve")
	eventually(t, http.StatusOK, "GET", s.backend+"/api/v1/demo/account/anna/user/anna", "", s.auth("demo"))
	j, err := s.client("demo").Job(t.Context(), id)
	require.NoError(t, err)
	require.EqualValues(t, "PENDING", j.Status)
	s.requireFull(t, ops)
	require.NoError(t, os.Remove(ballast))
	eventually(t, http.StatusOK, "GET", ops+"/readyz", "")
	begun := time.Now()
	done := s.ended(t, id)
	require.EqualValues(t, rows, done.Stats.RecordsProcessed)
	t.Logf("the import completed %v after there was space", time.Since(begun).Round(time.Second))
	again.stop(t)
	require.Equal(t, rows-int(done.Stats.Errors), number(t, s.open(t), `SELECT count(*) FROM user WHERE tenant = 'demo' AND id <> 'anna'`))
}

// requireFull sends event calls to the backend until it has used the space that is left in
// the files of the database: then each is answered with 503, never with 500, and the backend
// is not ready because of it.
func (s *site) requireFull(t *testing.T, ops string) {
	t.Helper()
	var events []string
	for range 20 {
		events = append(events, fmt.Sprintf(`{"key":"visit","fields":{"a":%q,"b":%[1]q}}`, strings.Repeat("x", 1400)))
	}
	body := `{"events":[` + strings.Join(events, ",") + `]}`
	refused := 0
	await(t, func() error {
		a, err := s.sendEvents(s.backend, "demo", "anna", body)
		require.NoError(t, err)
		require.Contains(t, []int{http.StatusOK, http.StatusServiceUnavailable}, a.status, a.body)
		if a.status == http.StatusServiceUnavailable {
			require.Equal(t, "1", a.header.Get("Retry-After"))
			require.Contains(t, a.body, "UNAVAILABLE")
			refused++
		}
		ready, err := call("GET", ops+"/readyz", "")
		require.NoError(t, err)
		if refused < 10 || ready.status != http.StatusServiceUnavailable {
			return fmt.Errorf("%d calls were refused, and the backend answers %s", refused, ready.body)
		}
		require.Contains(t, ready.body, "the database does not accept writes")
		return nil
	})
	mustCall(t, http.StatusOK, "GET", ops+"/healthz", "")
}
