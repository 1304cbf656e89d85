package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"kith/backend/app"
	"kith/backend/backup"
	"kith/backend/file"
	"kith/backend/file/bucket"
	"kith/backend/metrics"
	"kith/backend/store/tabledb"
	"kith/backend/worker"
	"kith/core"
)

// bucketFlags say where the files of jobs are.
type bucketFlags struct {
	Files string `env:"KITH_FILES" help:"Where the files of jobs (uploads, results, exports) are stored: a folder, or the URL of a bucket (s3://BUCKET/FOLDER?region=R&endpoint=URL or gs://BUCKET/FOLDER). Default: the folder files in the data folder." placeholder:"URL"`
}

// fileFlags configure the files of jobs.
type fileFlags struct {
	bucketFlags
	MaxFile    int64 `env:"KITH_MAX_FILE" default:"2147483648" help:"Largest file that an import accepts, in bytes, both packed and unpacked."`
	MaxStorage int64 `env:"KITH_MAX_STORAGE" default:"21474836480" help:"Most bytes of all files of a tenant: uploads, and the files that jobs write. Imports and exports beyond it are refused."`
}

// jobFlags configure jobs.
type jobFlags struct {
	fileFlags
	JobWorkers int           `env:"KITH_JOB_WORKERS" default:"2" help:"Most jobs that run at the same time. 0 runs none."`
	JobLease   time.Duration `env:"KITH_JOB_LEASE" default:"10s" help:"Time after which the work of a backend that was killed or cut off is taken over: jobs, webhooks and calls of payment gateways. No clocks are compared."`
}

// minJobLease is the shortest lease: a busy machine may delay the signs of life of a
// process for longer.
const minJobLease = 100 * time.Millisecond

// bucket returns where files are stored: a folder or a URL.
func (f bucketFlags) bucket(data string) string {
	return cmp.Or(f.Files, filepath.Join(data, "files"))
}

// openFiles opens the store of files.
func (f bucketFlags) openFiles(e *env, data string) (file.Store, error) {
	url := f.bucket(data)
	var files file.Store = file.Dir(url)
	if strings.Contains(url, "://") {
		var err error
		if files, err = bucket.Open(e.ctx, url); err != nil {
			return nil, err
		}
	}
	if dir, ok := files.(file.Dir); ok {
		if info, err := os.Stat(string(dir)); err == nil && !info.IsDir() {
			return nil, core.Invalid("files", string(dir)+" is not a folder; give a folder, or the URL of a bucket")
		}
	}
	return files, nil
}

// check returns an error for values with which no file could be stored. It writes nothing.
func (f fileFlags) check(e *env, data string) error {
	switch {
	case f.MaxFile < 1:
		return core.Invalid("max-file", "must be 1 or more bytes")
	case f.MaxStorage < 1:
		return core.Invalid("max-storage", "must be 1 or more bytes")
	}
	files, err := f.openFiles(e, data)
	if err == nil && f.Files != "" { // the default is in the data folder, which may not exist yet
		err = errors.Join(checkFiles(files), files.Close())
	}
	return err
}

// apply configures the use cases with the files of jobs.
func (f fileFlags) apply(e *env, engine *app.Engine, data string) (err error) {
	engine.Files.Max, engine.Files.MaxStorage = f.MaxFile, f.MaxStorage
	engine.Files.Store, err = f.openFiles(e, data)
	if err == nil {
		err = checkFiles(engine.Files.Store)
	}
	return err
}

// checkFiles returns an error if files are stored in a folder that this user cannot write, or
// cannot make: the first upload makes it. It writes nothing.
func checkFiles(files file.Store) error {
	dir, ok := files.(file.Dir)
	if !ok {
		return nil
	}
	at := filepath.Clean(string(dir))
	info, err := os.Stat(at)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(at) != at {
		at = filepath.Dir(at)
		info, err = os.Stat(at)
	}
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "mkdir", Path: at, Err: unix.ENOTDIR}
	} else if err == nil {
		err = unix.Access(at, unix.W_OK|unix.X_OK)
	}
	if err == nil {
		return nil
	}
	return core.Invalid("files", fmt.Sprintf("%s cannot be written: %v; create it for the user that runs kith, or give another folder, or the URL of a bucket, by KITH_FILES", dir, err))
}

// check returns an error for values with which no job could run.
func (f jobFlags) check(e *env, data string) error {
	switch {
	case f.JobWorkers < 0:
		return core.Invalid("job-workers", "must be 0 or more")
	case f.JobLease < minJobLease:
		return core.Invalid("job-lease", "must be 100ms or more")
	}
	return f.fileFlags.check(e, data)
}

// apply configures the use cases with the settings of jobs.
func (f jobFlags) apply(e *env, engine *app.Engine, data string) error {
	engine.Leases.Time = f.JobLease
	return f.fileFlags.apply(e, engine, data)
}

// scheduleFlags say when a backend makes backups.
type scheduleFlags struct {
	BackupDir   string        `env:"KITH_BACKUP_DIR" help:"Folder for backups of the whole service, named kith-TIME.tar.gz, or kith-TIME.tar.gz.age if they are encrypted. It must exist. Of several backends with one database, one makes each backup. Default: none are made." placeholder:"DIR"`
	BackupEvery time.Duration `env:"KITH_BACKUP_EVERY" default:"24h" help:"Time from one backup to the next."`
	BackupKeep  int           `env:"KITH_BACKUP_KEEP" default:"14" help:"Number of backups that stay in the folder. Older ones are removed after each new one."`
	recipientFlags
}

// check returns an error for settings with which no backup could be made.
func (f scheduleFlags) check() error {
	if _, err := f.recipients(); err != nil {
		return err
	}
	switch {
	case f.BackupEvery < time.Second:
		return core.Invalid("backup-every", "must be 1s or more")
	case f.BackupKeep < 1:
		return core.Invalid("backup-keep", "must be 1 or more")
	case f.BackupDir == "":
		return nil
	}
	info, err := os.Stat(f.BackupDir)
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a folder")
	} else if err == nil {
		err = unix.Access(f.BackupDir, unix.W_OK|unix.X_OK)
	}
	if err != nil {
		return fmt.Errorf("backup-dir %s: %w; mount or create it for the user that runs kith, or correct KITH_BACKUP_DIR", f.BackupDir, err)
	}
	return nil
}

// worker returns the worker that makes backups; nil if none are to be made.
func (f scheduleFlags) worker(e *env, engine *app.Engine) *worker.Worker {
	if f.BackupDir == "" {
		return nil
	}
	recipients, _ := f.recipients() // check has returned its error
	s := backup.Schedule{Base: engine.Base, Files: engine.Files.Store, Kith: version, Folder: f.BackupDir, Every: f.BackupEvery, Keep: f.BackupKeep, Recipients: recipients}
	return worker.NewBackups(f.BackupEvery, e.log, func(ctx context.Context) error {
		made, err := s.Run(ctx)
		if made.Size > 0 {
			e.log.Info("backup made", "file", made.Path, "bytes", made.Size, "content", made.Trailer.String(), "older_removed", made.Removed)
			if made.Future > 0 {
				e.log.Warn("backups are dated in the future: a clock was wrong, or is; they are not removed, so rename or remove them", "folder", f.BackupDir, "backups", made.Future)
			}
			if len(recipients) == 0 {
				e.log.Warn(notEncrypted, "file", made.Path)
			}
		}
		if err != nil {
			err = fmt.Errorf("backup: %w", err)
		}
		return err
	})
}

// observe adds the metric of the age of the latest backup.
func (f scheduleFlags) observe(e *env, engine *app.Engine) {
	if f.BackupDir == "" {
		return
	}
	begin := now()
	e.observer.Gauges(metrics.Gauge{
		Name: "kith_backup_age_seconds", Help: "Time since the latest scheduled backup was made; before the first one, since the process started.",
		Read: func(ctx context.Context) (map[string]float64, error) {
			made, err := tabledb.LatestBackup(ctx, engine.DB.Reads)
			if made == 0 {
				made = begin
			}
			return map[string]float64{"": float64(max(now()-made, 0)) / float64(core.Second)}, err
		},
	})
}
