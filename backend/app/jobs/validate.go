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
	// validatedBytes is the number of uncompressed bytes of a file that are validated.
	// It is bounded because a caller waits for the result.
	validatedBytes = 64 << 20
	// maxProblems is the number of row problems that are reported at most.
	maxProblems = 100
)

// Validate returns the problems of an import file: all problems of its header, and the
// first 100 problems of rows in its first 64 MiB (spec 4.1.2). A file without problems
// may still have rows that are refused when they are imported, such as a code that
// belongs to another user. Validate of an export returns nil.
func (js *Jobs) Validate(ctx context.Context, tenant core.TenantAlias, in job.Input) ([]string, error) {
	if !in.Type.Import() {
		return nil, nil
	}
	file, rows, err := js.validate(ctx, tenant, in)
	return append(rows, file...), err
}

// validate returns the problems of the file as a whole, for which its job would be
// aborted, and those of single rows.
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

// rowProblem returns the problem of a row, with its column if err has one.
func rowProblem(record int64, err error) importfile.Problem {
	p := importfile.Problem{Record: record, Reason: err.Error()}
	var e *core.Error
	if errors.As(err, &e) {
		p.Column, p.Reason = e.Field, e.Message
	}
	return p
}

// problemsOf returns the problems of a file that err has, or err itself if the file could
// not be read.
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
