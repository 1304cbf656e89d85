package main

import (
	"path/filepath"
	"strings"
	"time"

	"kith/backend/app"
	"kith/backend/file"
	"kith/backend/file/bucket"
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
	MaxFile int64 `env:"KITH_MAX_FILE" default:"2147483648" help:"Largest file that an import accepts, in bytes, both packed and unpacked."`
}

// jobFlags configure jobs.
type jobFlags struct {
	fileFlags
	JobWorkers int           `env:"KITH_JOB_WORKERS" default:"2" help:"Most jobs that run at the same time. 0 runs none."`
	JobLease   time.Duration `env:"KITH_JOB_LEASE" default:"15s" help:"Time after which a job whose worker does not renew its lease is taken over by another worker. The clocks of all backends must differ by less."`
}

// minJobLease is the shortest lease: a worker renews its lease only a few times before
// it would expire.
const minJobLease = 100 * time.Millisecond

// bucket returns where files are stored: a folder or a URL.
func (f bucketFlags) bucket(data string) string {
	if f.Files == "" {
		return filepath.Join(data, "files")
	}
	return f.Files
}

// openFiles opens the store of files.
func (f bucketFlags) openFiles(e *env, data string) (file.Store, error) {
	url := f.bucket(data)
	if !strings.Contains(url, "://") {
		return file.Dir(url), nil
	}
	return bucket.Open(e.ctx, url)
}

// apply configures the use cases with the files of jobs.
func (f fileFlags) apply(e *env, engine *app.Engine, data string) (err error) {
	if f.MaxFile < 1 {
		return core.Invalid("max-file", "must be 1 or more bytes")
	}
	engine.Files.Max = f.MaxFile
	engine.Files.Store, err = f.openFiles(e, data)
	return err
}

// apply configures the use cases with the settings of jobs.
func (f jobFlags) apply(e *env, engine *app.Engine, data string) error {
	switch {
	case f.JobWorkers < 0:
		return core.Invalid("job-workers", "must be 0 or more")
	case f.JobLease < minJobLease:
		return core.Invalid("job-lease", "must be 100ms or more")
	}
	engine.Jobs.Lease = core.Time(f.JobLease.Milliseconds())
	return f.fileFlags.apply(e, engine, data)
}

// newJobWorkers returns the workers that run jobs and delete old files.
func newJobWorkers(e *env, engine *app.Engine, n int) []*worker.Worker {
	jobs := worker.NewJobs(&engine.Jobs, n, e.log)
	engine.Jobs.Wake = jobs.Wake
	return []*worker.Worker{worker.NewOldFiles(&engine.Files, e.log), jobs}
}
