package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/require"
)

// scheduledBackups returns the backups in a folder, the oldest first.
func scheduledBackups(t testing.TB, folder string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, "kith-*Z.tar.gz"))
	require.NoError(t, err)
	return found
}

// Of two backends on one database, one makes each backup, and the newest two stay. A drill
// restores the newest, and changes nothing of the running service.
func TestBackupSchedule_RetentionAndDrill(t *testing.T) {
	t.Parallel()
	s := shop(t)
	folder, scratch := t.TempDir(), t.TempDir()
	env := []string{"KITH_BACKUP_DIR=" + folder, "KITH_BACKUP_EVERY=1s", "KITH_BACKUP_KEEP=2"}
	ops := freeAddr(t)
	first := s.serve(t, append(env, "KITH_OPS_ADDR="+ops)...)
	other := *s
	other.backend = "http://" + freeAddr(t)
	second := other.serve(t, env...)
	made := func() int {
		return strings.Count(fmt.Sprint(first.output, second.output), "backup made")
	}
	await(t, func() error {
		if n := made(); n < 4 {
			return fmt.Errorf("%d backups", n)
		}
		return nil
	})
	awaitMetric(t, ops, "kith_backup_age_seconds", func(age float64) bool { return age >= 0 && age < 60 })
	first.stop(t)
	second.stop(t)
	// No two processes made the same backup: they are at least a second apart.
	var at []string
	for _, p := range []*process{first, second} {
		for line := range strings.Lines(p.log(t)) {
			if _, file, ok := strings.Cut(line, "file="); ok && strings.Contains(line, "backup made") {
				name, _, _ := strings.Cut(file, " ")
				require.NotContains(t, at, name)
				at = append(at, name)
			}
		}
	}
	all := scheduledBackups(t, folder)
	require.Len(t, all, 2)

	s.serve(t)
	s.requireDoctorSeesBackups(t, folder, all[1])
	out := s.ok(t, "restore", "--drill", "--scratch", scratch, folder)
	for _, text := range []string{all[1], "ok    integrity    no damage found", "ok    master key   belongs to the database", "ok    rows         each table has the rows of the backup, and each file its size"} {
		require.Contains(t, out, text)
	}
	left, err := os.ReadDir(scratch)
	require.NoError(t, err)
	require.Empty(t, left)
	mustCall(t, http.StatusOK, "GET", s.backend+"/api/v1/demo/open/account/anna/user/anna", "", s.auth("demo"))

	content, err := os.ReadFile(all[1])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(all[1], content[:len(content)*9/10], 0o600))
	require.Contains(t, s.refused(t, "restore", "--drill", "--scratch", scratch, folder), "is truncated or damaged")
	require.Contains(t, s.refused(t, "restore", "--drill", "--scratch", scratch, all[0]+"x"), "no such file")
	require.Contains(t, s.refused(t, "restore", "--drill", scratch), "no backups named kith-TIME.tar.gz")
	require.Contains(t, s.refused(t, "restore", "--drill", "--tenant", "demo", all[0]), "leave out --tenant")
	other.data = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other.data, "master.key"), []byte(strings.Repeat("ab", 32)+"\n"), 0o600))
	require.Contains(t, other.refused(t, "restore", "--drill", "--scratch", scratch, all[0]), "is not that of the time of the backup")
	left, err = os.ReadDir(scratch)
	require.NoError(t, err)
	require.Empty(t, left)
}

// requireDoctorSeesBackups requires that kith doctor accepts a new backup, and finds that the
// newest one is too old, that there is none, and that the folder is away.
func (s *site) requireDoctorSeesBackups(t testing.TB, folder, newest string) {
	t.Helper()
	old := t.TempDir()
	require.NoError(t, os.Link(newest, filepath.Join(old, "kith-20260301T000000Z.tar.gz")))
	for dir, says := range map[string]string{
		folder:                          "ok    backups      the newest in " + folder + " was made ",
		old:                             "FAIL  backups      the newest in " + old + " was made ",
		t.TempDir():                     " has no scheduled backup",
		filepath.Join(folder, "absent"): "no such file or directory",
	} {
		out, errOut, status := s.run(t, []string{"KITH_BACKUP_DIR=" + dir, "KITH_BACKUP_EVERY=1h"}, "doctor")
		require.Contains(t, out, says, errOut)
		if dir == folder {
			require.Zero(t, status, out+errOut)
			continue
		}
		require.Equal(t, 1, status, out+errOut)
		require.Equal(t, 1, strings.Count(out, "FAIL"), out)
		require.Regexp(t, "look in the logs of the backends for worker=backups|mount or create it", out)
	}
}

// With a recipient, new backups are encrypted and replace older ones; doctor and a drill know
// both. Without one, the log and doctor say that they are not encrypted.
func TestBackupSchedule_Encrypted(t *testing.T) {
	t.Parallel()
	s := shop(t)
	key, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	folder, identity := t.TempDir(), filepath.Join(t.TempDir(), "key.txt")
	require.NoError(t, os.WriteFile(identity, []byte(key.String()), 0o600))
	env := []string{"KITH_BACKUP_DIR=" + folder, "KITH_BACKUP_EVERY=1s", "KITH_BACKUP_KEEP=1"}
	doctor := func() string {
		out, _, _ := s.run(t, []string{env[0]}, "doctor")
		return out
	}
	plain := s.serve(t, env...)
	plain.waitLog(t, "the backup is not encrypted: set KITH_BACKUP_RECIPIENT")
	plain.stop(t)
	require.Contains(t, doctor(), "ago and is not encrypted (KITH_BACKUP_RECIPIENT)")

	encrypting := s.serve(t, append(env, "KITH_BACKUP_RECIPIENT="+key.Recipient().String())...)
	encrypting.waitLog(t, "Z.tar.gz.age")
	encrypting.stop(t)
	require.NotContains(t, encrypting.log(t), "not encrypted")
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Regexp(t, `^kith-.*Z\.tar\.gz\.age$`, left[len(left)-1].Name())
	require.Contains(t, doctor(), "ok    backups      the newest in ")
	require.NotContains(t, doctor(), "not encrypted")
	require.Contains(t, s.ok(t, "restore", "--drill", "--identity-file", identity, folder), "ok    rows")
	require.Contains(t, s.refused(t, "restore", "--drill", folder), "identity-file: is needed")
}

// A backend that is killed while it writes a backup leaves no file; another one makes the
// backup soon.
func TestBackupSchedule_KillInTheMiddle(t *testing.T) {
	t.Parallel()
	s := shop(t)
	db := s.open(t)
	fillEvents(t, db, "demo", "x", many)
	folder := t.TempDir()
	env := []string{"KITH_BACKUP_DIR=" + folder, "KITH_BACKUP_EVERY=1h", "KITH_JOB_LEASE=1s"}
	first := s.serve(t, env...)
	first.killWhen(t, func() error {
		if n, err := tryNumber(db, `SELECT count(*) FROM backup_schedule WHERE leased_by IS NOT NULL`); err != nil || n == 0 {
			return fmt.Errorf("no backup was begun, %v", err)
		}
		return nil
	})
	require.NotContains(t, first.log(t), "backup made")
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left, "nothing is left of it")

	second := s.serve(t, env...)
	second.waitLog(t, "took over the work of a process that stopped")
	second.waitLog(t, "backup made")
	require.Len(t, scheduledBackups(t, folder), 1)
	require.Contains(t, s.ok(t, "restore", "--drill", "--scratch", t.TempDir(), folder), "ok    rows")
}

// Settings with which no backup could be made are refused at start.
func TestBackupSchedule_Settings(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	for _, c := range []struct{ env, says string }{
		{"KITH_BACKUP_EVERY=10ms", "backup-every: must be 1s or more"},
		{"KITH_BACKUP_RECIPIENT=AGE-SECRET-KEY-1", "backup-recipient: key 1 is not a public key of age"},
		{"KITH_BACKUP_KEEP=0", "backup-keep: must be 1 or more"},
		{"KITH_BACKUP_DIR=" + filepath.Join(s.data, "away"), "away: no such file or directory; mount or create it"},
		{"KITH_BACKUP_DIR=" + s.file(), "it is not a folder"},
		{"KITH_BACKUP_DIR=/proc/self", "backup-dir /proc/self: operation not permitted; mount or create it for the user that runs kith"},
	} {
		_, errOut, status := s.run(t, []string{"KITH_BACKUP_DIR=" + s.data, c.env}, "serve")
		require.Equal(t, 1, status)
		require.Contains(t, errOut, c.says)
		require.NotContains(t, errOut, "SECRET")
	}
}
