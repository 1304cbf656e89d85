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
	"kith/backend/store/unit"
	"kith/core"
	"kith/core/exportfile"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/rules"
	"kith/core/state"
	"kith/core/wire"
)

const (
	// smallImport is the size in bytes up to which an import is done within the
	// call that creates it.
	smallImport = 64 << 10
	// aliveRows is the number of rows between lease renewals while a file is only
	// checked.
	aliveRows = 500
	// aliveBytes is after how many bytes that are only read a worker renews its lease:
	// rows may be long, or few among empty lines, of which a loaded processor may take
	// no more than 10 MB a second.
	aliveBytes = 1 << 20
	// maxMessage bounds what the errors file says of one row, in bytes.
	maxMessage = 1 << 10
)

// run is the work on one import.
type run struct {
	jobs   *Jobs
	claim  *jobdb.Lease
	params job.Params
	form   exportfile.Form
	tenant core.TenantAlias
	rules  *rules.Rules
	sizer  *batchSizer
	packer packer
	// parse parses a row of the import's type.
	parse func(wire.Row) (importRow, error)
	kept  core.Time
	// cut is true when the result file does not have all rows.
	cut bool
}

// importRow is a row that was read: a decidedRow or a togetherRow.
type importRow any

// decidedRow is a row that a call of the API would decide, in the same way.
type decidedRow interface {
	// want has loaded what the row needs, and wantMore what it needs besides, as far
	// as that shows in what was loaded.
	want(*state.State)
	wantMore(*state.State)
	// decide does what the row says, and returns its row of the result file.
	decide(*state.State) (result []string, err error)
}

// togetherRow is a row whose use case takes many at once.
type togetherRow interface {
	together(ctx context.Context, tx *store.Tx, rows []importRow) ([]applied, error)
}

// batchRow is a row of a batch, or what is wrong with it.
type batchRow struct {
	record int64
	row    importRow
	// problem is set when row is not.
	problem error
	// behind is where the next row begins.
	behind int64
}

// load does a claimed import.
func (js *Jobs) load(ctx context.Context, c *jobdb.Lease) error {
	p, err := wire.ParseJobParams(c.Type, c.Params)
	if err != nil {
		return aborted{err.Error()}
	}
	tenant, err := tenantdb.Find(ctx, js.DB.Reads, c.Tenant)
	if err != nil {
		return err
	}
	r := &run{jobs: js, claim: c, params: p, kept: js.Now(), tenant: c.Tenant, rules: js.Rules(), sizer: newBatchSizer(js.DB.Embedded()), form: exportfile.Form{
		Format: c.Format, Dates: tenant.ExportDates, Share: js.Share(tenant),
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

// fatal distinguishes a fault of the file, which no further attempt will mend,
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

// check reads the whole file before any of its rows is applied, so that a
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
	return r.jobs.openSource(ctx, r.claim.Tenant, r.claim.Type, r.claim.File, position, record, func() error { return r.alive(ctx) })
}

// alive shows that the worker lives, when that has not been shown for a while.
func (r *run) alive(ctx context.Context) error {
	now := r.jobs.Now()
	if now-r.kept < r.jobs.lease()/4 {
		return ctx.Err()
	}
	r.kept = now
	return r.jobs.keep(ctx, *r.claim)
}

// rows applies all rows that are left, and reports after each batch.
func (r *run) rows(ctx context.Context, report func()) error {
	in, err := r.open(ctx, r.claim.Position, r.claim.Stats.Processed)
	if err != nil {
		return err
	}
	defer in.close()
	batches, stop := r.parsed(in)
	defer stop()
	disk := r.newDisk()
	for !r.rejected(0) {
		next := <-batches
		if next.err != nil {
			return next.err
		}
		if len(next.rows) == 0 {
			break
		}
		if err = r.batch(ctx, next.rows); err == nil {
			err = disk.next()
		}
		if err != nil {
			return err
		}
		report()
	}
	return disk.last()
}

// parsedRows are the rows of a batch, none at the end of the file, or why they cannot
// be read.
type parsedRows struct {
	rows []batchRow
	err  error
}

// parsed reads and parses each batch while the one before it is applied. stop returns
// when the file is not read any more.
func (r *run) parsed(in *source) (batches <-chan parsedRows, stop func()) {
	parsed, stopped, ended := make(chan parsedRows), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			rows, err := r.read(in)
			select {
			case parsed <- parsedRows{rows, err}:
			case <-stopped:
				return
			}
			if err != nil || len(rows) == 0 {
				return
			}
		}
	}()
	return parsed, func() { close(stopped); <-ended }
}

// read reads and parses the rows of a batch; none are the end of the file. Empty lines
// between rows count as read: they take time, and the lease is renewed only between
// batches.
func (r *run) read(in *source) (rows []batchRow, err error) {
	most, begun := r.sizer.size(), in.Position()
	rows = make([]batchRow, 0, most)
	for at := begun; len(rows) < most && at-begun < mostBytes; at = in.Position() {
		row, problem, err := in.row()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		parsed := batchRow{record: in.Record(), problem: problem, behind: in.Position()}
		if problem == nil {
			parsed.row, parsed.problem = r.parse(row)
		}
		rows = append(rows, parsed)
	}
	return rows, nil
}

// disk brings one batch to the disk while the next one is applied. A power
// cut that loses a batch loses how far the import has come with it.
type disk struct {
	durable func() error
	// written is what became of the batch that was brought there last.
	written chan error
}

func (r *run) newDisk() disk {
	d := disk{durable: r.jobs.DB.Durable, written: make(chan error, 1)}
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

// batch applies rows in one transaction, together with how far the import has come
// then: whenever the process dies, no row is lost and none is done twice.
func (r *run) batch(ctx context.Context, rows []batchRow) error {
	var after jobdb.Lease
	begun := time.Now()
	err := r.jobs.DB.WriteUnsynced(ctx, r.jobs.Now(), func(tx *store.Tx) error {
		tx.Silent = r.params.Silent
		begun, after = time.Now(), *r.claim
		var p part
		done, save, err := r.apply(ctx, tx, rows, &p)
		if err != nil {
			return err
		}
		after.Stats.Processed += int64(done)
		after.Stats.Errors += int64(len(p.errors))
		after.Position = rows[done-1].behind
		packed := r.packing(p, after.Stats.Processed)
		err = save(ctx)
		part := <-packed
		if err = errors.Join(err, part.err); err != nil {
			return err
		}
		ok, err := jobdb.SaveProgress(ctx, tx, after, part.Chunk, r.jobs.leaseEnd(tx.Now))
		if err == nil && !ok {
			err = ErrLeaseLost
		}
		return err
	})
	if err != nil {
		return err
	}
	r.applied(after, time.Since(begun))
	time.Sleep(r.sizer.rest)
	return nil
}

// applied notes what became of a batch.
func (r *run) applied(after jobdb.Lease, took time.Duration) {
	done, failed := after.Stats.Processed-r.claim.Stats.Processed, after.Stats.Errors-r.claim.Stats.Errors
	r.jobs.ReportWork(base.WorkRows, string(after.Type), base.OutcomeFailed, failed)
	r.jobs.ReportWork(base.WorkRows, string(after.Type), base.OutcomeDone, done-failed)
	r.sizer.took(int(done), took)
	*r.claim = after
	r.kept = r.jobs.Now()
	r.jobs.Logged()
}

// rejected reports whether so many further rows that failed are as many as the
// import may have: then it stops.
func (r *run) rejected(further int) bool {
	return r.claim.Stats.Errors+int64(further) >= cmp.Or(r.params.MaxErrors, job.DefaultMaxErrors)
}

// apply applies rows up to the one at which the import stops, and returns how many
// that are and what saves what they changed.
func (r *run) apply(ctx context.Context, tx *store.Tx, rows []batchRow, p *part) (done int, save func(context.Context) error, err error) {
	rows = r.untilRejected(rows)
	if kind := kindOf(rows); kind != nil {
		return len(rows), func(context.Context) error { return nil }, r.applyTogether(ctx, tx, kind, rows, p)
	}
	u := r.jobs.Unit(tx, r.claim.Tenant)
	if err := load(ctx, u, rows); err != nil {
		return 0, nil, err
	}
	for done < len(rows) && !r.rejected(len(p.errors)) {
		if err := r.report(p, rows[done], decide(ctx, u, rows[done])); err != nil {
			return 0, nil, err
		}
		done++
	}
	return done, u.Save, nil
}

// untilRejected returns the rows up to the one at which the import stops because of
// rows that cannot be read.
func (r *run) untilRejected(rows []batchRow) []batchRow {
	problems := 0
	for i, row := range rows {
		if row.problem == nil {
			continue
		}
		if problems++; r.rejected(problems) {
			return rows[:i+1]
		}
	}
	return rows
}

// packedPart is a part that is ready to be stored, or why there is none.
type packedPart struct {
	jobdb.Chunk
	err error
}

// packing writes and packs a part while its rows are saved.
func (r *run) packing(p part, seq int64) <-chan packedPart {
	packed := make(chan packedPart, 1)
	go func() {
		for i, row := range p.result {
			p.result[i] = r.form.Row(r.claim.Type, row)
		}
		part, err := p.pack(seq, &r.packer)
		packed <- packedPart{part, err}
	}()
	return packed
}

// load loads what rows need, by two rounds of statements.
func load(ctx context.Context, u *unit.Unit, rows []batchRow) error {
	for _, want := range []func(decidedRow){
		func(row decidedRow) { row.want(u.State) }, func(row decidedRow) { row.wantMore(u.State) },
	} {
		for _, row := range rows {
			if row.problem == nil {
				want(row.row.(decidedRow))
			}
		}
		if err := u.Load(ctx); err != nil {
			return err
		}
	}
	return nil
}

// decide decides one row.
func decide(ctx context.Context, u *unit.Unit, row batchRow) (became applied) {
	if row.problem != nil {
		return applied{err: row.problem}
	}
	became.err = u.Decide(ctx, func(s *state.State) (err error) {
		became.result, err = row.row.(decidedRow).decide(s)
		return err
	})
	return became
}

// applied is what became of a row.
type applied struct {
	// result is its row of the result file, or nil for a row that did nothing.
	result []string
	// err says why it was refused, or is nil.
	err error
}

// kindOf is one of the rows when their use case takes many at once, or nil.
func kindOf(rows []batchRow) togetherRow {
	for _, row := range rows {
		if row.row != nil {
			kind, _ := row.row.(togetherRow)
			return kind
		}
	}
	return nil
}

// applyTogether applies rows whose use case takes many at once.
func (r *run) applyTogether(ctx context.Context, tx *store.Tx, kind togetherRow, rows []batchRow, p *part) error {
	var good []importRow
	for _, row := range rows {
		if row.problem == nil {
			good = append(good, row.row)
		}
	}
	all, err := kind.together(ctx, tx, good)
	if err != nil {
		return err
	}
	for _, row := range rows {
		became := applied{err: row.problem}
		if row.problem == nil {
			became, all = all[0], all[1:]
		}
		if err := r.report(p, row, became); err != nil {
			return err
		}
	}
	return nil
}

// report writes down what became of a row: what is wrong with the row is for the
// errors file; what is wrong with us is an error.
func (r *run) report(p *part, row batchRow, became applied) error {
	if became.err != nil {
		message, code, status, ok := wire.RowFailure(became.err)
		if !ok {
			return became.err
		}
		p.fail(row.record, message, code, status, r.claim.Format)
		return nil
	}
	if became.result != nil {
		p.add(became.result)
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
		notes = append(notes, "the result file was cut at "+strconv.FormatInt(r.jobs.Files.maxFile(), 10)+" bytes of rows; all rows were processed")
	}
	before, err := jobdb.SameImport(ctx, r.jobs.DB.Reads, r.claim.Tenant, r.claim.Job)
	if before != "" {
		notes = append(notes, "the same content was imported before, by job "+before)
	}
	r.claim.Message = strings.Join(notes, "; ")
	return err
}
