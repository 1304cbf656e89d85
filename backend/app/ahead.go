package app

import (
	"io"

	"kith/core/wire"
)

// batchRow is a row of a batch: what is to be done, or what is wrong with it.
type batchRow struct {
	record int64
	row    importRow
	// problem is set when row is not.
	problem error
	// behind is where the next row begins.
	behind int64
}

// readRows are the rows of a batch, none at the end of the file, or why they cannot
// be read.
type readRows struct {
	rows []batchRow
	err  error
}

// ahead reads a batch while the end of the one before it is written, when there
// are no rules to apply: with these and what is written at once it would only take
// the processor from what everybody waits for. One goroutine uses it.
type ahead struct {
	read func() readRows
	// coming brings the next batch, or is nil when that was not begun.
	coming chan readRows
}

// begin begins to read the next batch, unless that was done.
func (a *ahead) begin() {
	if a.coming == nil {
		coming := make(chan readRows, 1)
		a.coming = coming
		go func() { coming <- a.read() }()
	}
}

func (a *ahead) take() readRows {
	a.begin()
	defer func() { a.coming = nil }()
	return <-a.coming
}

// end waits for what was begun.
func (a *ahead) end() {
	if a.coming != nil {
		a.take()
	}
}

// read reads and parses the rows of a batch.
func (r *run) read(in *source) readRows {
	most := r.pace.size()
	rows := make([]batchRow, 0, most)
	var buffer []byte
	for size := 0; len(rows) < most && size < mostBytes; size += len(buffer) {
		text, problem, err := in.row(buffer[:0], wire.ImportRow)
		if err == io.EOF {
			break
		}
		if err != nil {
			return readRows{err: err}
		}
		buffer = text
		row := batchRow{record: in.Record(), problem: problem, behind: in.Position()}
		if problem == nil {
			row.row, row.problem = r.parse(text)
		}
		rows = append(rows, row)
	}
	return readRows{rows: rows}
}
