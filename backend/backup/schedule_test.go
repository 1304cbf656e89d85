package backup_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
	"kith/backend/backup"
	"kith/backend/file"
	"kith/backend/store"
	"kith/backend/store/storetest"
	"kith/core"
	"kith/core/auth"
)

// scheduled returns two processes that make backups of one database every hour, and keep 2.
// at is their clock.
func scheduled(t *testing.T, folder string, at *core.Time) (a, b *backup.Schedule) {
	t.Helper()
	keys, err := auth.ParseKeyring(strings.Repeat("01", 32))
	require.NoError(t, err)
	url, files := storetest.File(t), file.Dir(t.TempDir())
	process := func(name string) *backup.Schedule {
		db, err := store.Open(url, "")
		require.NoError(t, err)
		t.Cleanup(func() { _ = db.Close() })
		return &backup.Schedule{
			Base:  &base.Base{DB: db, Keys: keys, Process: name, Now: func() core.Time { return *at }, Entropy: func(b []byte) { _, _ = rand.Read(b) }},
			Files: files, Kith: "v1", Folder: folder, Every: time.Hour, Keep: 2,
		}
	}
	return process("a"), process("b")
}

func TestSchedule_OneOfSeveralMakesEachBackup(t *testing.T) {
	t.Parallel()
	at, folder := core.Time(1_772_355_600_000), t.TempDir() // 2026-03-01 09:00 UTC
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kith-mine.tar.gz"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kith-20200101T000000Z.tar.gz.part17"), nil, 0o600))
	a, b := scheduled(t, folder, &at)
	for hour, by := range []*backup.Schedule{a, b, b, a} {
		made, err := by.Run(t.Context())
		require.NoError(t, err)
		require.Positive(t, made.Size, "hour %d", hour)
		for _, s := range []*backup.Schedule{a, b, a} {
			again, err := s.Run(t.Context())
			require.NoError(t, err)
			require.Zero(t, again.Size, "it is not due")
		}
		at += core.Hour
	}
	all, err := backup.Scheduled(folder)
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(folder, "kith-20260301T120000Z.tar.gz"), filepath.Join(folder, "kith-20260301T110000Z.tar.gz")}, all)
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, left, 3, "and a file that is none of its own")
	of, err := backup.TimeOf(all[0])
	require.NoError(t, err)
	require.Equal(t, 12, of.Hour())
	content, err := os.Open(all[0])
	require.NoError(t, err)
	defer content.Close()
	_, trailer, err := backup.Verify(content)
	require.NoError(t, err)
	require.True(t, trailer.SignedBy(a.Keys.Backup()))
}

// Backups that are encrypted count with those that are not.
func TestSchedule_Encrypted(t *testing.T) {
	t.Parallel()
	at, folder := core.Time(1_772_355_600_000), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kith-20200101T000000Z.tar.gz.age.part17"), nil, 0o600))
	a, _ := scheduled(t, folder, &at)
	key, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	for _, a.Recipients = range [][]age.Recipient{nil, nil, {key.Recipient()}, {key.Recipient()}, {key.Recipient()}, nil} {
		made, err := a.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, len(a.Recipients) > 0, backup.Encrypted(made.Path))
		at += core.Hour
	}
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	encrypted := filepath.Join(folder, "kith-20260301T130000Z.tar.gz.age")
	require.Equal(t, []string{encrypted, filepath.Join(folder, "kith-20260301T140000Z.tar.gz")}, left)
	of, err := backup.TimeOf(encrypted)
	require.NoError(t, err)
	require.Equal(t, 13, of.Hour())
	content, err := os.Open(encrypted)
	require.NoError(t, err)
	defer content.Close()
	_, trailer, err := backup.Verify(content, key)
	require.NoError(t, err)
	require.True(t, trailer.SignedBy(a.Keys.Backup()))
}

// A backup that failed is tried again later, and leaves no file. A clock that was wrong
// delays a backup by at most one interval.
func TestSchedule_Failures(t *testing.T) {
	t.Parallel()
	at, folder := core.Time(1_772_355_600_000), t.TempDir()
	a, b := scheduled(t, filepath.Join(folder, "away"), &at)
	_, err := a.Run(t.Context())
	require.ErrorIs(t, err, os.ErrNotExist)
	b.Folder = folder
	made, err := b.Run(t.Context())
	require.NoError(t, err)
	require.Zero(t, made.Size, "not at once after a failure")
	at += 5*core.Minute + 1
	made, err = b.Run(t.Context())
	require.NoError(t, err)
	require.Positive(t, made.Size)

	at -= core.Minute
	made, err = b.Run(t.Context())
	require.NoError(t, err)
	require.Zero(t, made.Size, "clocks differ a little")
	at -= 2 * core.Hour
	made, err = b.Run(t.Context())
	require.NoError(t, err)
	require.Positive(t, made.Size)

	at += 2 * core.Hour
	b.Folder = folder
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "kith-20260301T000000Z.tar.gz", "full"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kith-20260301T000001Z.tar.gz"), nil, 0o600))
	made, err = b.Run(t.Context())
	require.NoError(t, err, "a folder with the name of a backup is none")
	require.Equal(t, []int{1, 1}, []int{made.Removed, made.Future}, "that of the wrong clock stays")
	require.FileExists(t, made.Path)
}

// A folder that was changed or emptied gets a backup at once, one of several processes; backups
// of a wrong clock never take the place of a new one.
func TestSchedule_FolderDecides(t *testing.T) {
	t.Parallel()
	at, folder := core.Time(1_772_355_600_000), t.TempDir()
	a, b := scheduled(t, folder, &at)
	made, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Positive(t, made.Size)
	at += core.Minute
	require.NoError(t, os.Remove(made.Path))
	var size [2]int64
	for i, s := range []*backup.Schedule{b, a} {
		made, err = s.Run(t.Context())
		require.NoError(t, err)
		size[i] = made.Size
	}
	require.Positive(t, size[0])
	require.Zero(t, size[1])
	for _, year := range []string{"2101", "2102", "2103"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "kith-"+year+"0101T000000Z.tar.gz"), nil, 0o600))
	}
	at += core.Hour
	made, err = a.Run(t.Context())
	require.NoError(t, err)
	require.FileExists(t, made.Path)
	require.Equal(t, []int{0, 3}, []int{made.Removed, made.Future})
}
