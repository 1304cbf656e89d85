package app

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"kith/backend/store"
	"kith/core"
	"kith/core/exportfile"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/referral"
	"kith/core/wire"
)

const (
	// smallImport is the size in bytes up to which an import is done within the
	// call that creates it.
	smallImport = 64 << 10
	// aliveRows is after how many rows that are only looked at a worker thinks of
	// its lease.
	aliveRows = 500
	// aliveBytes is after how many bytes that are only read a worker renews its lease:
	// rows may be long, or few among empty lines.
	aliveBytes = 16 << 20
	// maxMessage bounds what the errors file says of one row, in bytes.
	maxMessage = 1 << 10
)

// run is the work on one import.
type run struct {
	e      *Engine
	claim  *store.Claim
	params job.Params
	form   exportfile.Form
	tenant core.TenantAlias
	pace   *pace
	ahead  *ahead
	packer packer
	// begun is when the batch took the write lock, and ended when the one before gave
	// it back.
	begun, ended time.Time
	// parse reads a row, which is a JSON object.
	parse func(row []byte) (importRow, error)
	kept  core.Time
	// cut is true when the result file does not have all rows.
	cut bool
}

// importRow is a row that was read, and can be carried out.
type importRow interface {
	// about adds what carrying out the row will ask about.
	about(*store.About)
	// apply does, within a transaction, what the row says, and returns its row of
	// the result file. It may be run twice, when the first time is undone.
	apply(ctx context.Context, tx *store.Tx) (result []string, err error)
}

// load does a claimed import.
func (e *Engine) load(ctx context.Context, c *store.Claim) error {
	p, err := wire.ParseJobParams(c.Type, c.Params)
	if err != nil {
		return aborted{err.Error()}
	}
	tenant, err := e.DB.Tenant(ctx, c.Tenant)
	if err != nil {
		return err
	}
	r := &run{e: e, claim: c, params: p, kept: e.Now(), tenant: c.Tenant, pace: newPace(e.DB.Embedded()), form: exportfile.Form{
		Format: c.Format, Dates: tenant.ExportDates, Share: e.share(tenant),
	}}
	if r.parse, err = r.parser(c.Type); err != nil {
		return err
	}
	if c.Position == 0 {
		if err := r.check(ctx); err != nil {
			return fatal(err)
		}
	}
	result := r.resultFile(ctx)
	if err := r.rows(ctx, result.more); err != nil {
		result.drop()
		return fatal(err)
	}
	if err := r.files(ctx, result); err != nil {
		return err
	}
	return r.say(ctx)
}

// files ends the result file, and makes that of errors when there were any.
func (r *run) files(ctx context.Context, result *partFile) (err error) {
	r.claim.Result, err = result.end(ctx, r)
	r.cut = result.cut
	if err != nil || r.claim.Stats.Errors == 0 {
		return err
	}
	r.claim.Job.Errors, err = r.errorsFile(ctx).end(ctx, r)
	return err
}

// fatal tells what is wrong with a file, which no further attempt will mend,
// from what went wrong with us.
func fatal(err error) error {
	var problem importfile.Problem
	var header headerProblems
	var caller *core.Error
	if errors.As(err, &problem) || errors.As(err, &header) || errors.As(err, &caller) && caller.Code != core.CodeInternal {
		return aborted{err.Error()}
	}
	return err
}

// check reads the whole file before any of its rows is carried out, so that a
// file that is broken somewhere changes nothing.
func (r *run) check(ctx context.Context) error {
	in, err := r.open(ctx, 0, 0)
	if err != nil {
		return err
	}
	defer in.close()
	for shown := int64(0); ; {
		line, err := in.Line()
		if err == io.EOF {
			break
		}
		if err == nil && in.format == importfile.CSV {
			_, err = in.Cells(line)
		}
		if err == nil && (in.Record()%aliveRows == 0 || in.Position()-shown >= aliveBytes) {
			shown = in.Position()
			err = r.alive(ctx)
		}
		if err != nil {
			return err
		}
	}
	if in.Record() == 0 {
		return importfile.Problem{Reason: "the file has no rows"}
	}
	return nil
}

func (r *run) open(ctx context.Context, position, record int64) (*source, error) {
	return r.e.openSource(ctx, r.claim.Tenant, r.claim.Type, r.claim.File, position, record, func() error { return r.alive(ctx) })
}

// alive shows that the worker lives, when that has not been shown for a while.
func (r *run) alive(ctx context.Context) error {
	now := r.e.Now()
	if now-r.kept < r.e.lease()/4 {
		return ctx.Err()
	}
	r.kept = now
	return r.e.keep(ctx, *r.claim)
}

// rows carries out all rows that are left, and tells after each batch.
func (r *run) rows(ctx context.Context, tell func()) error {
	in, err := r.open(ctx, r.claim.Position, r.claim.Stats.Processed)
	if err != nil {
		return err
	}
	defer in.close()
	r.ahead = &ahead{read: func() readRows { return r.read(in) }}
	defer r.ahead.end()
	disk := r.newDisk()
	var rows []batchRow
	for {
		if r.rejected(0) {
			return disk.last()
		}
		// What is left of a batch goes with the next: one of few rows costs as much
		// as one of many.
		size := r.pace.size()
		if n := len(rows); n == 0 || n < size && rows[n-1].behind-r.claim.Position < mostBytes {
			more := r.ahead.take()
			if more.err != nil {
				return more.err
			}
			rows = slices.Concat(rows, more.rows)
		}
		if len(rows) == 0 {
			return disk.last()
		}
		done, err := r.batch(ctx, rows[:min(len(rows), size)])
		if err == nil {
			err = disk.next()
		}
		if err != nil {
			return err
		}
		rows = rows[done:]
		tell()
	}
}

// disk brings one batch to the disk while the next one is carried out. A power
// cut that loses a batch loses how far the import has come with it.
type disk struct {
	durable func() error
	// written is what became of the batch that was brought there last.
	written chan error
}

func (r *run) newDisk() disk {
	d := disk{durable: r.e.DB.Durable, written: make(chan error, 1)}
	d.written <- nil
	return d
}

// next is called after each batch; it waits for the one before.
func (d disk) next() error {
	err := <-d.written
	go func() { d.written <- d.durable() }()
	return err
}

// last waits for the last batch.
func (d disk) last() error { return <-d.written }

// batch carries out rows in one transaction, together with how far the import
// has come then: whenever the process dies, no row is lost and none is done
// twice. It returns how many rows it was.
func (r *run) batch(ctx context.Context, rows []batchRow) (done int, err error) {
	rows = r.untilRejected(rows)
	if kind := together(rows); kind != nil {
		done, err = r.transact(ctx, rows, r.write, r.applyAll(kind))
	} else {
		done, err = r.transact(ctx, rows, r.writeBatch(rows), r.applyParts)
	}
	if store.BatchFailed(err) {
		done, err = r.transact(ctx, rows, r.write, r.applyEach)
	}
	if err == nil {
		r.kept = r.e.Now()
		r.e.Wake()
	}
	return done, err
}

// rejected reports whether so many further rows that failed are as many as the
// import may have: then it stops.
func (r *run) rejected(further int) bool {
	return r.claim.Stats.Errors+int64(further) >= cmp.Or(r.params.MaxErrors, job.DefaultMaxErrors)
}

// untilRejected is the rows up to the one at which the import stops, as far as
// rows cannot even be read.
func (r *run) untilRejected(rows []batchRow) []batchRow {
	problems := 0
	for i, row := range rows {
		if row.problem != nil {
			problems++
		}
		if problems > 0 && r.rejected(problems) {
			return rows[:i+1]
		}
	}
	return rows
}

// applying carries out rows, as many as there is time for, at least one.
type applying func(ctx context.Context, tx *store.Tx, rows []batchRow, p *part) (done int, err error)

// writing runs do in a transaction, as store.Primary.WriteBehind does.
type writing func(ctx context.Context, now core.Time, do func(*store.Tx) error) error

// transact carries out rows.
func (r *run) transact(ctx context.Context, rows []batchRow, write writing, apply applying) (done int, err error) {
	var after store.Claim
	err = write(ctx, r.e.Now(), func(tx *store.Tx) error {
		r.begun = time.Now()
		mark, err := tx.Mark(ctx)
		if err != nil {
			return err
		}
		r.pace.saw(mark)
		tx.Silent = r.params.Silent
		after = *r.claim
		var p part
		if done, err = apply(ctx, tx, rows, &p); err != nil {
			return err
		}
		after.Stats.Processed += int64(done)
		after.Stats.Errors += int64(len(p.errors))
		after.Position = rows[done-1].behind
		part, err := p.pack(after.Stats.Processed, &r.packer)
		if err == nil {
			err = tx.EndBatch(ctx)
		}
		if err != nil {
			return err
		}
		ok, err := tx.MoveImport(ctx, after, part, r.e.leaseEnd(tx.Now))
		if err == nil && !ok {
			err = ErrJobLost
		}
		return err
	})
	if err != nil {
		return done, err
	}
	failed := after.Stats.Errors - r.claim.Stats.Errors
	r.e.Worked(WorkRows, string(after.Type), OutcomeFailed, failed)
	r.e.Worked(WorkRows, string(after.Type), OutcomeDone, int64(done)-failed)
	r.ended = time.Now()
	r.pace.took(done, r.ended.Sub(r.begun))
	*r.claim = after
	return done, nil
}

// rest leaves the lock to others.
func (r *run) rest() {
	time.Sleep(time.Until(r.ended.Add(r.pace.rest)))
	for end := time.Now().Add(mostRest); r.e.DB.Wanted() && time.Now().Before(end); {
		time.Sleep(restPoll)
	}
	r.begun = time.Now()
}

// write runs a transaction when others had their time.
func (r *run) write(ctx context.Context, now core.Time, do func(*store.Tx) error) error {
	r.rest()
	return r.e.DB.WriteBehind(ctx, now, do)
}

// writeBatch runs a transaction that is a batch. While nobody else writes, it does
// something in the time of others.
func (r *run) writeBatch(rows []batchRow) writing {
	return func(ctx context.Context, now core.Time, do func(*store.Tx) error) error {
		wait := r.rest
		if !r.pace.quiet {
			r.rest()
			wait = nil
		}
		return r.e.DB.WriteBatch(ctx, now, r.claim.Tenant, r.about(rows), wait, do)
	}
}

// applyParts carries out rows as a batch: those of one part are written while the
// rules of the next are applied.
func (r *run) applyParts(ctx context.Context, tx *store.Tx, rows []batchRow, p *part) (done int, err error) {
	// What was read is read again with every row that is left over.
	begun := time.Now()
	end := begun.Add(r.pace.aim)
	for next := range slices.Chunk(rows, (len(rows)/r.pace.parts/store.ManyRows+1)*store.ManyRows) {
		some, err := r.applyUntil(ctx, tx, next, p, end)
		if err != nil {
			return 0, err
		}
		if done += some; some < len(next) || r.rejected(len(p.errors)) {
			break
		}
		tx.Behind(ctx)
		if r.pace.quiet && time.Since(begun) > fileBatch && tx.Wanted() {
			break
		}
	}
	// What follows would take the processor from what the connection waits for.
	tx.AllBehind(ctx)
	r.ahead.begin()
	return done, nil
}

// about is what rows will ask about.
func (r *run) about(rows []batchRow) store.About {
	about := store.About{LatestSince: r.e.Now() - referral.RateWindow, LatestMost: maxRecent}
	for _, row := range rows {
		if row.problem == nil {
			row.row.about(&about)
		}
	}
	return about
}

// applyEach carries out rows one after the other.
func (r *run) applyEach(ctx context.Context, tx *store.Tx, rows []batchRow, p *part) (done int, err error) {
	return r.applyUntil(ctx, tx, rows, p, time.Now().Add(r.pace.aim))
}

func (r *run) applyUntil(ctx context.Context, tx *store.Tx, rows []batchRow, p *part, end time.Time) (done int, err error) {
	for done < len(rows) && (done == 0 || time.Now().Before(end)) && !r.rejected(len(p.errors)) {
		if err := r.tell(p, rows[done], r.row(ctx, tx, rows[done])); err != nil {
			return 0, err
		}
		done++
	}
	return done, nil
}

// applied is what became of a row.
type applied struct {
	// result is its row of the result file, or nil for a row that did nothing.
	result []string
	// err says why it was not carried out, or is nil.
	err error
}

// applyAll is a row of a kind whose use case takes many at once.
type applyAll interface {
	applyAll(ctx context.Context, tx *store.Tx, rows []importRow) ([]applied, error)
}

// together is one of the rows when they are of such a kind, or nil.
func together(rows []batchRow) applyAll {
	for _, row := range rows {
		if row.row != nil {
			kind, _ := row.row.(applyAll)
			return kind
		}
	}
	return nil
}

// applyAll carries out rows of a kind whose use case takes many at once.
func (r *run) applyAll(kind applyAll) applying {
	return func(ctx context.Context, tx *store.Tx, rows []batchRow, p *part) (done int, err error) {
		r.ahead.begin()
		var good []importRow
		for _, row := range rows {
			if row.problem == nil {
				good = append(good, row.row)
			}
		}
		all, err := kind.applyAll(ctx, tx, good)
		if err != nil {
			return 0, err
		}
		for _, row := range rows {
			became := applied{err: row.problem}
			if row.problem == nil {
				became, all = all[0], all[1:]
			}
			if err := r.tell(p, row, became); err != nil {
				return 0, err
			}
		}
		return len(rows), nil
	}
}

// row carries out one row.
func (r *run) row(ctx context.Context, tx *store.Tx, row batchRow) (became applied) {
	if row.problem != nil {
		return applied{err: row.problem}
	}
	became.err = tx.Try(ctx, func() (err error) {
		became.result, err = row.row.apply(ctx, tx)
		return err
	})
	return became
}

// tell writes down what became of a row: what is wrong with the row is for the
// errors file; what is wrong with us is an error.
func (r *run) tell(p *part, row batchRow, became applied) error {
	if became.err != nil {
		message, code, status, ok := wire.RowFailure(became.err)
		if !ok {
			return became.err
		}
		p.fail(row.record, message, code, status, r.claim.Format)
		return nil
	}
	if became.result != nil {
		p.add(r.form.Row(r.claim.Type, became.result))
	}
	return nil
}

// say notes what else there is to say of the import: that it stopped before the end
// of its file, and that the same content was imported before.
func (r *run) say(ctx context.Context) error {
	var notes []string
	if r.rejected(0) {
		notes = append(notes, "stopped because "+strconv.FormatInt(r.claim.Stats.Errors, 10)+" rows were rejected; rows after record "+
			strconv.FormatInt(r.claim.Stats.Processed, 10)+" were not processed. Correct the file, or raise maxErrors in the job's params")
	}
	if r.cut {
		notes = append(notes, "the result file was cut at "+strconv.FormatInt(r.e.maxFile(), 10)+" bytes of rows; all rows were processed")
	}
	before, err := r.e.DB.SameImport(ctx, r.claim.Tenant, r.claim.Job)
	if before != "" {
		notes = append(notes, "the same content was imported before, by job "+before)
	}
	r.claim.Message = strings.Join(notes, "; ")
	return err
}
