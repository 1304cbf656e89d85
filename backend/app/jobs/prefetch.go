package jobs

import (
	"io"
)

// parsedRows has the rows of a batch, none at the end of the file, or the error of
// reading them.
type parsedRows struct {
	rows []batchRow
	err  error
}

// parsed reads and parses each batch while the one before it is applied. stop ends that,
// and returns when the file is no longer being read.
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

// read reads and parses the rows of a batch; no rows mean the end of the file. The bytes
// of empty lines count too: reading them takes time, and the lease is renewed only
// between batches.
func (r *run) read(in *source) (rows []batchRow, err error) {
	size, begin := r.sizer.Size(), in.Position()
	rows = make([]batchRow, 0, size)
	for at := begin; len(rows) < size && at-begin < maxBytes; at = in.Position() {
		row, problem, err := in.row()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		parsed := batchRow{number: in.number(), problem: problem, end: in.Place()}
		if problem == nil {
			parsed.row, parsed.problem = r.parse(row)
		}
		rows = append(rows, parsed)
	}
	return rows, nil
}
