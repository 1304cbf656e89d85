package jobs

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/jobdb"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/exportfile"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/link"
	"kith/core/rules"
	"kith/core/wire"
)

const (
	// smallImport is the size of a file, in bytes, up to which an import runs within
	// the call that creates it.
	smallImport = 64 << 10
	// renewRows is the number of rows after which a worker that checks a file looks
	// whether its lease must be renewed.
	renewRows = 500
	// renewBytes is the number of bytes after which it looks too: rows may be long, or
	// few among empty lines, and a loaded processor reads only 10 MB a second.
	renewBytes = 1 << 20
	// maxBytes is the number of bytes that are read for one batch at most, for files
	// with long rows.
	maxBytes = 1 << 20
	// maxMessage is the size of the message of one row in the errors file, in bytes.
	maxMessage = 1 << 10
)

// run is one attempt at an import.
type run struct {
	jobs       *Jobs
	lease      *jobdb.Lease
	params     job.Params
	file       exportfile.File
	share      link.Share
	tenant     core.TenantAlias
	rules      *rules.Rules
	sizer      *store.BatchSizer
	compressor compressor
	// parse parses a row of the import's type.
	parse   func(wire.Row) (importRow, error)
	renewed time.Time
	// dialect and unknown say how the file was read, and which of its columns were not.
	dialect importfile.Dialect
	unknown []string
	// cut is true if the result file does not have all rows, but about cutAt bytes of them.
	cut   bool
	cutAt int64
}

// load runs a leased import.
func (js *Jobs) load(ctx context.Context, l *jobdb.Lease) error {
	p, err := wire.ParseJobParams(l.Type, l.Params)
	if err != nil {
		return aborted{err.Error()}
	}
	tenant, err := tenantdb.Find(ctx, js.DB.Reads, l.Tenant)
	if err != nil {
		return err
	}
	share := js.Share(tenant)
	r := &run{
		jobs: js, lease: l, params: p, renewed: time.Now(), tenant: l.Tenant, rules: js.Rules(), share: share, sizer: store.NewBatchSizer(js.DB.Embedded(), js.BatchTime),
		file: exportfile.Form{Format: l.Format, Dates: tenant.ExportDates, Share: share}.File(l.Type),
	}
	if r.parse, err = r.parser(l.Type); err != nil {
		return err
	}
	if l.Position == 0 {
		if r.stopped() {
			return aborted{l.Message}
		}
		if err := r.check(ctx); err != nil {
			return fatal(err)
		}
	}
	result := r.newFile(ctx, "result", r.file.Header(), func(c jobdb.Chunk) []byte { return c.Result })
	if err := r.rows(ctx, result.more); err != nil {
		result.drop()
		return fatal(err)
	}
	if err := r.files(ctx, result); err != nil {
		return err
	}
	return r.addNotes(ctx)
}

// files completes the result file, and writes the errors file if rows have failed.
func (r *run) files(ctx context.Context, result *chunkFile) (err error) {
	r.lease.Result, err = result.end(ctx, r)
	r.cut, r.cutAt = result.cut, result.limit
	if err != nil || r.lease.Stats.Errors == 0 {
		return err
	}
	failed := r.newFile(ctx, "errors", exportfile.ErrorsHeader(), func(c jobdb.Chunk) []byte { return c.Errors })
	r.lease.Job.Errors, err = failed.end(ctx, r)
	return err
}

// fatal returns an aborted error if err is a problem of the file, which no further
// attempt can solve, or else err.
func fatal(err error) error {
	if problems, _ := problemsOf(err); problems != nil || base.Refused(err) {
		return aborted{err.Error()}
	}
	return err
}

// check reads the whole file before any of its rows is applied, so that an invalid file
// changes nothing.
func (r *run) check(ctx context.Context) error {
	in, err := r.open(ctx, importfile.Place{})
	if err != nil {
		return err
	}
	defer in.close()
	for checked := int64(0); ; {
		line, err := in.Line()
		if err == io.EOF {
			break
		}
		if err == nil && in.format == importfile.CSV {
			_, err = in.Cells(line)
		}
		if err == nil && (in.Record()%renewRows == 0 || in.Position()-checked >= renewBytes) {
			checked = in.Position()
			err = r.renewIfDue(ctx)
		}
		if err != nil {
			return err
		}
	}
	if in.Record() == 0 {
		return importfile.Problem{Reason: "the file has no rows"}
	}
	r.lease.Total = in.Record()
	return nil
}

func (r *run) open(ctx context.Context, from importfile.Place) (*source, error) {
	return r.jobs.openSource(ctx, input{
		tenant: r.lease.Tenant, typ: r.lease.Type, ref: r.lease.File, columns: r.params.Columns, from: from, renew: func() error { return r.renewIfDue(ctx) },
	})
}

// renewIfDue renews the lease if renewEvery has passed since the last renewal.
func (r *run) renewIfDue(ctx context.Context) error {
	if time.Since(r.renewed) < renewEvery {
		return ctx.Err()
	}
	r.renewed = time.Now()
	return r.jobs.renew(ctx, *r.lease)
}

// rows applies the remaining rows, and calls batchDone after each batch.
func (r *run) rows(ctx context.Context, batchDone func()) error {
	in, err := r.open(ctx, importfile.Place{Position: r.lease.Position, Record: r.lease.Stats.Processed, Row: r.lease.Row})
	if err != nil {
		return err
	}
	defer in.close()
	r.dialect, r.unknown = in.dialect, in.layout.Unknown
	batches, stop := r.parsed(in)
	defer stop()
	// One batch is synced to the disk while the next one is applied. If a power failure loses a
	// batch, it loses the recorded progress of that batch too, so that the next attempt repeats it.
	synced := make(chan error, 1)
	synced <- nil
	for !r.stopped() && !r.rejected(0) {
		next := <-batches
		if next.err != nil {
			return next.err
		}
		if len(next.rows) == 0 {
			break
		}
		for rest := next.rows; len(rest) > 0 && !r.rejected(0); {
			done, err := r.batch(ctx, rest)
			if err == nil {
				err = <-synced
				go func() { synced <- r.jobs.DB.Durable() }()
			}
			if err != nil {
				return err
			}
			rest = rest[done:]
			batchDone()
		}
	}
	return <-synced
}

// batch applies rows and records the progress of the import in one transaction: if the
// process ends at any time, no row is lost and no row is applied twice. It returns how many
// rows it applied: at least one, and not all if they take far longer than a batch should.
func (r *run) batch(ctx context.Context, rows []batchRow) (done int, err error) {
	if r.sizer.Pause > 0 {
		r.jobs.batching.Lock()
		defer r.jobs.batching.Unlock()
	}
	type committed struct {
		jobdb.Lease
		begun time.Time
	}
	after, err := store.WriteValue(ctx, r.jobs.DB.WriteUnsynced, r.jobs.Now(), func(tx *store.Tx) (after committed, err error) {
		tx.Silent = r.params.Silent
		after = committed{Lease: *r.lease, begun: time.Now()}
		var out chunkRows
		done, save, err := r.apply(ctx, tx, rows, &out)
		if err != nil {
			return after, err
		}
		after.Stats.Processed += int64(done)
		after.Stats.Errors += int64(len(out.errors))
		after.Stats.Idle += int64(done - len(out.errors) - len(out.result))
		after.Position = rows[done-1].end.Position
		if r.lease.Position == 0 || r.lease.Row > 0 {
			after.Row = rows[done-1].end.Row
		}
		compressed := r.compress(out, after.Stats.Processed)
		err = save(ctx)
		chunk := <-compressed
		if err = errors.Join(err, chunk.err); err != nil {
			return after, err
		}
		ok, err := jobdb.SaveProgress(ctx, tx, after.Lease, chunk.Chunk, r.jobs.RenewedToken())
		if err == nil && !ok {
			err = ErrLeaseLost
		}
		return after, err
	})
	if err != nil {
		return 0, err
	}
	done = int(after.Stats.Processed - r.lease.Stats.Processed)
	r.applied(after.Lease, time.Since(after.begun))
	time.Sleep(r.sizer.Pause)
	return done, nil
}

// applied records the result of a batch in r, and reports it for the metrics.
func (r *run) applied(after jobdb.Lease, took time.Duration) {
	done, failed := after.Stats.Processed-r.lease.Stats.Processed, after.Stats.Errors-r.lease.Stats.Errors
	r.jobs.ReportWork(base.WorkRows, string(after.Type), base.OutcomeFailed, failed)
	r.jobs.ReportWork(base.WorkRows, string(after.Type), base.OutcomeDone, done-failed)
	r.sizer.Took(int(done), took)
	*r.lease = after
	r.renewed = time.Now()
	r.jobs.Logged()
}

// stopped reports whether the import was stopped; see Jobs.Stop.
func (r *run) stopped() bool { return r.lease.Message != "" }

// rejected reports whether the import must stop because, with further more failed rows,
// it has as many as maxErrors of its params.
func (r *run) rejected(further int) bool {
	return r.lease.Stats.Errors+int64(further) >= cmp.Or(r.params.MaxErrors, job.DefaultMaxErrors)
}

// compressedChunk is a chunk to be stored, or the error of making it.
type compressedChunk struct {
	jobdb.Chunk
	err error
}

// compress makes a chunk in the background, while its rows are saved.
func (r *run) compress(out chunkRows, seq int64) <-chan compressedChunk {
	compressed := make(chan compressedChunk, 1)
	go func() {
		for i, row := range out.result {
			out.result[i] = r.file.Row(row)
		}
		result, resultErr := r.compressor.compress(out.result)
		failed, err := r.compressor.compress(out.errors)
		compressed <- compressedChunk{jobdb.Chunk{Seq: seq, Result: result, Errors: failed}, errors.Join(resultErr, err)}
	}()
	return compressed
}

// addNotes sets the message of the job: that it stopped before the end of its file, how the
// file was read if it was converted, what of it did nothing, that the result file is
// incomplete, or that the same content was imported before.
func (r *run) addNotes(ctx context.Context) error {
	var notes []string
	rest := "; rows after row " + strconv.FormatInt(max(r.lease.Row, r.lease.Stats.Processed), 10) + " were not processed"
	switch {
	case r.stopped():
		notes = append(notes, r.lease.Message+rest)
	case r.rejected(0):
		notes = append(notes, "stopped because "+strconv.FormatInt(r.lease.Stats.Errors, 10)+" rows were rejected"+rest+". Correct the file, or raise maxErrors in the job's params")
	}
	if !r.dialect.Plain() {
		notes = append(notes, "read as "+r.dialect.Words())
	}
	if len(r.unknown) > 0 {
		const most = 20
		note := "ignored columns: " + strings.Join(r.unknown[:min(len(r.unknown), most)], ", ")
		if len(r.unknown) > most {
			note += " and " + strconv.Itoa(len(r.unknown)-most) + " more"
		}
		notes = append(notes, note)
	}
	if r.cut {
		note := "the result file ends after " + strconv.FormatInt(r.cutAt, 10) + " bytes of rows; all rows were processed"
		if r.cutAt < r.jobs.Files.maxFile() {
			note += ". The files of the tenant may have " + strconv.FormatInt(r.jobs.Files.maxStorage(), 10) + " bytes; remove imports and exports"
		}
		notes = append(notes, note)
	}
	if idle := r.lease.Stats.Idle; idle > 0 {
		notes = append(notes, strconv.FormatInt(idle, 10)+" of the rows redeem nothing: their valueToRedeem is empty, 0 or negative")
	}
	before, err := jobdb.SameImport(ctx, r.jobs.DB.Reads, r.lease.Tenant, r.lease.Job)
	if before != "" {
		notes = append(notes, "the same content was imported before, by job "+before)
	}
	r.lease.Message = strings.Join(notes, "; ")
	return err
}
