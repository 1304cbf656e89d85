package jobs

import (
	"context"
	"errors"
	"io"

	"kith/core"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/wire"
)

const (
	// validatedBytes is how much of a file is validated, unpacked: a caller
	// waits for it.
	validatedBytes = 64 << 20
	// maxProblems is how many problems of rows are told.
	maxProblems = 100
)

// Validate looks for problems of an import file: all of its header and the
// first 100 of its rows, within its first 64 MiB (spec 4.1.2). None is
// no promise: what a row asks for may be refused when it is carried out.
func (js *Jobs) Validate(ctx context.Context, tenant core.TenantAlias, in job.Input) ([]string, error) {
	if !in.Type.Import() {
		return nil, nil
	}
	file, rows, err := js.validate(ctx, tenant, in)
	return append(rows, file...), err
}

// validate tells what is wrong with a file, for which its job would be aborted,
// from what is wrong with some of its rows.
func (js *Jobs) validate(ctx context.Context, tenant core.TenantAlias, in job.Input) (file, rows []string, err error) {
	s, err := js.openSource(ctx, tenant, in.Type, in.File, 0, 0, nil)
	if err != nil {
		file, err = problemsOf(err)
		return file, nil, err
	}
	defer s.close()
	for len(rows) < maxProblems && s.Position() < validatedBytes && ctx.Err() == nil {
		row, problem, err := s.row()
		if err == io.EOF {
			break
		}
		if err != nil {
			file, err = problemsOf(err)
			return file, rows, err
		}
		if problem == nil {
			problem = wire.CheckImportRow(tenant, in.Type, row)
		}
		if problem != nil {
			rows = append(rows, rowProblem(s.Record(), problem).Error())
		}
	}
	if s.Record() <= 0 {
		file = append(file, "the file has no rows")
	}
	return file, rows, ctx.Err()
}

// rowProblem says in which row and column something is wrong.
func rowProblem(record int64, err error) importfile.Problem {
	p := importfile.Problem{Record: record, Reason: err.Error()}
	var e *core.Error
	if errors.As(err, &e) {
		p.Column, p.Reason = e.Field, e.Message
	}
	return p
}

// problemsOf is what is wrong with a file, or the error that kept it from being
// read.
func problemsOf(err error) ([]string, error) {
	var problem importfile.Problem
	var header headerProblems
	switch {
	case errors.As(err, &problem):
		return []string{problem.Error()}, nil
	case errors.As(err, &header):
		var all []string
		for _, p := range header {
			all = append(all, p.Error())
		}
		return all, nil
	}
	return nil, err
}
