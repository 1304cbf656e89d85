package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kith doctor finds nothing wrong in a healthy installation, while the service runs.
func TestDoctor_Healthy(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	out, errOut, status := s.run(t, []string{"KITH_BACKEND_URL=" + s.backend}, "doctor")
	require.Zero(t, status, out+errOut)
	for _, line := range []string{
		"ok    data folder", "ok    disk space", "ok    database", "ok    integrity    no damage found", "ok    schema",
		"ok    writes       a write succeeded", "ok    master key   belongs to the database", "ok    files", "skip  backups      not checked: KITH_BACKUP_DIR is not set", "ok    backend      " + s.backend + " answers, and its master key and clock agree",
		"skip  web          TLS, share links and cookie are not checked: give --visit",
	} {
		require.Contains(t, out, line)
	}
	require.NotContains(t, out, "FAIL")
}

// Damage and mistakes are found, each with its remedy, and kith serve does not start on a
// damaged file, or with a file in place of a key.
func TestDoctor_FindsProblems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do            func(t *testing.T, s *site)
		doctor, serve string
	}{
		"not a database": {func(t *testing.T, s *site) {
			require.NoError(t, os.WriteFile(s.file(), []byte(strings.Repeat("text ", 5000)), 0o600))
		}, "FAIL  database", "kith.db: store: "},
		"damaged pages": {func(t *testing.T, s *site) {
			file, err := os.OpenFile(s.file(), os.O_RDWR, 0)
			require.NoError(t, err)
			// Behind the first pages, which have the list of tables.
			info, err := file.Stat()
			require.NoError(t, err)
			for at := info.Size() / 2; at < info.Size(); at += 4096 {
				_, err = file.WriteAt([]byte("damaged page"), at)
				require.NoError(t, err)
			}
			require.NoError(t, file.Close())
		}, "FAIL  integrity", "kith restore"},
		"another key": {func(t *testing.T, s *site) {
			require.NoError(t, os.WriteFile(filepath.Join(s.data, "master.key"), []byte(strings.Repeat("ab", 32)+"\n"), 0o600))
		}, "FAIL  master key   is not that of the database", "does not belong to this database"},
		"no key": {func(t *testing.T, s *site) {
			require.NoError(t, os.Remove(filepath.Join(s.data, "master.key")))
		}, "FAIL  master key   there is none, and the database has one", "master-key: is neither in KITH_MASTER_KEY nor in "},
		"a key that others can read": {func(t *testing.T, s *site) {
			require.NoError(t, os.Chmod(filepath.Join(s.data, "master.key"), 0o644)) // #nosec G302 -- on purpose
		}, "chmod 600 ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := demoSite(t)
			s.serve(t).stop(t)
			c.do(t, s)
			out, errOut, status := s.run(t, nil, "doctor")
			require.Equal(t, 1, status, out+errOut)
			require.Contains(t, out, c.doctor, errOut)
			require.NotContains(t, out, "run kith restore again", "no restore was begun")
			if c.serve == "" {
				return
			}
			out, errOut, status = s.run(t, nil, "serve")
			require.Equal(t, 1, status, out+errOut)
			require.Contains(t, errOut, c.serve)
			require.NotContains(t, errOut, "goroutine")
		})
	}
}

// A malformed key names where it is.
func TestDoctor_MalformedKey(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	require.NoError(t, os.WriteFile(filepath.Join(s.data, "master.key"), []byte("short\n"), 0o600))
	for _, command := range []string{"doctor", "serve"} {
		_, errOut, status := s.run(t, nil, command)
		require.Equal(t, 1, status)
		require.Contains(t, errOut, "master-key (in "+filepath.Join(s.data, "master.key")+"): the master key must be 32 bytes in hex or base64")
	}
}

// A second kith serve on the same folder, with another address, is a second worker: both
// answer, and each sees what the other stores.
func TestServe_SecondOnTheSameFolder(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	second := *s
	second.backend = "http://" + freeAddr(t)
	second.serve(t)
	for i, at := range []string{s.backend, second.backend, s.backend, second.backend} {
		other := []string{second.backend, s.backend}[i%2]
		id := string(rune('a' + i))
		s.identify(t, at, "demo", id, `{"referralCode":"CODE`+strings.ToUpper(id)+`"}`)
		mustCall(t, http.StatusOK, "GET", other+"/api/v1/demo/code/CODE"+strings.ToUpper(id), "", s.auth("demo"))
	}
	done := s.ended(t, s.beginJob(t, "MUTATION/USER", "users.csv", userRows(0, 500)))
	require.EqualValues(t, 500, done.Stats.RecordsProcessed)
}
