package jobs

import (
	"context"

	"kith/backend/store"
	"kith/backend/store/unit"
	"kith/core/importfile"
	"kith/core/state"
	"kith/core/wire"
)

// importRow is a parsed row: a decidedRow or a groupRow.
type importRow any

// decidedRow is a row that is decided alone, by the same rules as a call of the API.
type decidedRow interface {
	// want requests the state that the row needs. wantMore is called when that is
	// loaded, and requests what the row needs in addition.
	want(*state.State)
	wantMore(*state.State)
	// decide applies the row to the state, and returns its row of the result file.
	decide(*state.State) (result []string, err error)
}

// groupRow is a row of a type whose rows are applied together.
type groupRow interface {
	// applyAll applies rows of the same type, and returns the result of each. It may leave out
	// the last ones if it can apply them in another transaction and the batch is late.
	applyAll(ctx context.Context, tx *store.Tx, rows []importRow, late func() bool) ([]applied, error)
}

// batchRow is a row of a batch.
type batchRow struct {
	// number is the number of the row in the file, for people.
	number int64
	// row is the parsed row. It is valid only if problem is nil.
	row importRow
	// problem is the error of a row that cannot be parsed.
	problem error
	// end is the place in the file after the row.
	end importfile.Place
}

// apply applies rows up to the one at which the import stops, or after which the batch is late.
// done is their number, and save saves their changes.
func (r *run) apply(ctx context.Context, tx *store.Tx, rows []batchRow, out *chunkRows) (done int, save func(context.Context) error, err error) {
	rows = r.untilRejected(rows)
	if kind := kindOf(rows); kind != nil {
		done, err = r.applyGroup(ctx, tx, kind, rows, out)
		return done, func(context.Context) error { return nil }, err
	}
	u := r.jobs.Unit(tx, r.lease.Tenant)
	if err := load(ctx, u, rows); err != nil {
		return 0, nil, err
	}
	late := r.sizer.Late()
	for done < len(rows) && !r.rejected(len(out.errors)) && (done == 0 || !late()) {
		if err := r.report(out, rows[done], decide(ctx, u, rows[done])); err != nil {
			return 0, nil, err
		}
		done++
	}
	return done, u.Save, nil
}

// untilRejected returns the rows up to the one at which the import stops because too
// many rows cannot be parsed.
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

// load loads the state that rows need, by two rounds of statements.
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
func decide(ctx context.Context, u *unit.Unit, row batchRow) (a applied) {
	if row.problem != nil {
		return applied{err: row.problem}
	}
	a.err = u.Decide(ctx, func(s *state.State) (err error) {
		a.result, err = row.row.(decidedRow).decide(s)
		return err
	})
	return a
}

// applied is the result of a row.
type applied struct {
	// result is its row of the result file, or nil for a row without effect.
	result []string
	// err is the error of a row that failed.
	err error
}

// kindOf returns one of the rows if rows of their type are applied together, or nil.
func kindOf(rows []batchRow) groupRow {
	for _, row := range rows {
		if row.row != nil {
			kind, _ := row.row.(groupRow)
			return kind
		}
	}
	return nil
}

// applyGroup applies rows of a type whose rows are applied together, and returns how many.
func (r *run) applyGroup(ctx context.Context, tx *store.Tx, kind groupRow, rows []batchRow, out *chunkRows) (done int, err error) {
	var good []importRow
	for _, row := range rows {
		if row.problem == nil {
			good = append(good, row.row)
		}
	}
	all, err := kind.applyAll(ctx, tx, good, r.sizer.Late())
	if err != nil {
		return 0, err
	}
	for done < len(rows) {
		a := applied{err: rows[done].problem}
		if a.err == nil && len(all) == 0 {
			break
		} else if a.err == nil {
			a, all = all[0], all[1:]
		}
		if err := r.report(out, rows[done], a); err != nil {
			return 0, err
		}
		done++
	}
	return done, nil
}

// report adds the result of a row to the chunk. It returns an error that is not about
// the row, but internal.
func (r *run) report(out *chunkRows, row batchRow, a applied) error {
	if a.err != nil {
		message, code, status, ok := wire.RowFailure(a.err)
		if !ok {
			return a.err
		}
		out.fail(row.number, message, code, status, r.lease.Format)
		return nil
	}
	if a.result != nil {
		out.result = append(out.result, a.result)
	}
	return nil
}
