package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"kith/backend/app/base"
	"kith/backend/atomicfile"
	"kith/backend/file"
	"kith/backend/store"
	"kith/backend/store/tabledb"
	"kith/core"
)

const (
	// retryAfter is the time after a failed backup in which no process tries again, unless
	// backups are more frequent.
	retryAfter = 5 * core.Minute
	// renewEvery is less than the time after which the lease of a running process ends.
	renewEvery = time.Minute
)

// Schedule makes backups of the whole service at intervals. Of several backends with one
// database, one makes each backup.
type Schedule struct {
	*base.Base
	Files file.Store
	// Kith is the version of this program.
	Kith string
	// Folder must exist. Every is the interval; Keep is the number of backups that stay.
	Folder string
	Every  time.Duration
	Keep   int
	// Recipients can decrypt the backups; without recipients these are not encrypted.
	Recipients []age.Recipient
}

// Made is a backup that was made. Its Size is 0 if none was.
type Made struct {
	Path    string
	Size    int64
	Trailer Trailer
	// Removed is the number of older backups that were removed, and Future that of backups
	// whose time is in the future, because a clock was wrong: they stay, and do not count.
	Removed, Future int
}

// Run makes a backup if one is due, or the folder has none. A process that is killed leaves no
// incomplete file; another one makes the backup when the lease is released. There may be an error
// although a backup was made: an older one could not be removed.
func (s *Schedule) Run(ctx context.Context) (made Made, err error) {
	every := core.Time(s.Every.Milliseconds())
	age, empty := every, s.empty()
	if empty {
		age = 0
	}
	isDue := func() (bool, error) { return tabledb.BackupDue(ctx, s.DB.Reads, s.Now(), every, age) }
	token, err := base.Take(ctx, s.Base, isDue, func(tx *store.Tx, token string) (string, error) {
		due, err := tabledb.LeaseBackup(ctx, tx, every, age, token)
		if !due {
			token = ""
		}
		return token, err
	})
	if err != nil || token == "" {
		return made, err
	}
	l := lease{Schedule: s, token: token}
	if empty && !s.empty() {
		// Another process made one between the look at the folder and the lease.
		return made, s.DB.Write(ctx, s.Now(), func(tx *store.Tx) error { return tabledb.FailBackup(ctx, tx, l.token, 0) })
	}
	made, err = l.hold(ctx, s.make)
	retry := s.Now() + min(retryAfter, every)
	if ctx.Err() != nil {
		retry = 0 // the process stops, and the next one may begin at once
	}
	ctx = context.WithoutCancel(ctx)
	end := s.DB.Write(ctx, s.Now(), func(tx *store.Tx) error {
		if made.Size == 0 {
			return tabledb.FailBackup(ctx, tx, l.token, retry)
		}
		return tabledb.EndBackup(ctx, tx, l.token)
	})
	return made, errors.Join(err, end)
}

// empty reports whether the folder has no scheduled backup, such as one that was changed or
// emptied. A folder that cannot be read has none to miss.
func (s *Schedule) empty() bool {
	paths, err := Scheduled(s.Folder)
	return err == nil && len(paths) == 0
}

// lease is the lease of a backup that is being made.
type lease struct {
	*Schedule
	token string
}

// hold runs do and renews the lease meanwhile. It cancels do if the lease was lost.
func (l *lease) hold(ctx context.Context, do func(context.Context) (Made, error)) (Made, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		tick := time.NewTicker(renewEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := l.renew(ctx); err != nil {
				cancel(err)
			}
		}
	}()
	made, err := do(ctx)
	if lost := context.Cause(ctx); err != nil && lost != nil {
		err = lost
	}
	cancel(nil)
	<-renewed
	return made, err
}

func (l *lease) renew(ctx context.Context) error {
	next := l.RenewedToken()
	has, err := store.WriteValue(ctx, l.DB.Write, l.Now(), func(tx *store.Tx) (bool, error) {
		return tabledb.RenewBackup(ctx, tx, l.token, next)
	})
	switch {
	case err != nil:
		return nil // tried again in a minute; the lease lasts longer
	case !has:
		return errors.New("backup: another process has the lease")
	}
	l.token = next
	return nil
}

// make writes a backup, and removes those that are too many.
func (s *Schedule) make(ctx context.Context) (made Made, err error) {
	now := s.Now()
	source := Source{DB: s.DB, Files: s.Files, Kind: Backup, Kith: s.Kith, Now: now, Recipients: s.Recipients}
	signer := s.Keys.Backup()
	source.Signer = &signer
	var nonce [12]byte
	s.Entropy(nonce[:])
	if source.KeyCheck, err = KeyCheck(s.Keys, nonce); err != nil {
		return made, err
	}
	path := filepath.Join(s.Folder, fileName(now, len(s.Recipients) > 0))
	size, err := atomicfile.Write(path, func(to io.Writer) (err error) {
		made.Trailer, err = Write(ctx, source, to)
		return err
	})
	if err != nil {
		return made, err
	}
	made.Path, made.Size = path, size
	made.Removed, made.Future, err = prune(path, s.Keep)
	return made, err
}

const (
	nameTime = "20060102T150405Z"
	// encryptedEnd ends the names of encrypted backups.
	encryptedEnd = ".age"
)

// scheduled matches the names of scheduled backups, incomplete what a kill leaves of one on
// a file system such as NFS.
var (
	scheduled  = regexp.MustCompile(`^kith-\d{8}T\d{6}Z\.tar\.gz(\.age)?$`)
	incomplete = regexp.MustCompile(`^kith-\d{8}T\d{6}Z\.tar\.gz(\.age)?\.part\d+$`)
)

func fileName(now core.Time, encrypted bool) string {
	name := "kith-" + time.UnixMilli(int64(now)).UTC().Format(nameTime) + ".tar.gz"
	if encrypted {
		name += encryptedEnd
	}
	return name
}

// Encrypted reports whether a scheduled backup is encrypted, by its name.
func Encrypted(path string) bool { return strings.HasSuffix(path, encryptedEnd) }

// TimeOf returns when a scheduled backup was begun, by its name.
func TimeOf(path string) (time.Time, error) {
	name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "kith-"), encryptedEnd), ".tar.gz")
	return time.Parse(nameTime, name)
}

// Scheduled returns the scheduled backups in a folder, the newest first.
func Scheduled(folder string) (paths []string, err error) { return inFolder(folder, scheduled) }

func inFolder(folder string, named *regexp.Regexp) (paths []string, err error) {
	all, err := os.ReadDir(folder) // sorted by name, and so by time
	if err != nil {
		return nil, err
	}
	for _, entry := range slices.Backward(all) {
		if named.MatchString(entry.Name()) && entry.Type().IsRegular() {
			paths = append(paths, filepath.Join(folder, entry.Name()))
		}
	}
	return paths, nil
}

// prune removes all but the newest scheduled backups, of which made is the last. Backups whose
// time is later stay, and other files. It returns the numbers of both.
func prune(made string, keep int) (removed, later int, err error) {
	folder := filepath.Dir(made)
	paths, err := Scheduled(folder)
	if err != nil {
		return 0, 0, err
	}
	later = max(slices.Index(paths, made), 0)
	paths = paths[later:]
	old := paths[min(keep, len(paths)):]
	parts, err := inFolder(folder, incomplete)
	if err != nil {
		return 0, later, err
	}
	for _, path := range slices.Concat(old, parts) {
		if err := os.Remove(path); err != nil {
			return removed, later, fmt.Errorf("backup: an older one could not be removed: %w", err)
		}
		removed++
	}
	return removed, later, nil
}
