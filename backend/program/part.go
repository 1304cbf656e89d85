package program

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"strconv"

	"kith/backend/store"
	"kith/core/exportfile"
	"kith/core/job"
)

// part collects the rows that a batch has to tell, which are packed when no more
// come: they wait in the database until the job ends, since most buckets cannot add
// to a file.
type part struct {
	result, errors [][]string
}

// zips are what packed parts of an import before, for its next ones: each has a
// megabyte of its own, and a batch takes a few hundredths of a second.
type zips []*flate.Writer

func (z *zips) to(w io.Writer) (*flate.Writer, error) {
	if len(*z) == 0 {
		return flate.NewWriter(w, flate.BestSpeed)
	}
	last := len(*z) - 1
	zip := (*z)[last]
	*z = (*z)[:last]
	zip.Reset(w)
	return zip, nil
}

// pack packs rows; none are nothing.
func (z *zips) pack(rows [][]string) ([]byte, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	var packed bytes.Buffer
	zip, err := z.to(&packed)
	if err != nil {
		return nil, err
	}
	err = errors.Join(csv.NewWriter(zip).WriteAll(rows), zip.Close())
	*z = append(*z, zip)
	return packed.Bytes(), err
}

// add tells of a row that was carried out.
func (p *part) add(row []string) { p.result = append(p.result, row) }

// fail tells of a row that was not.
func (p *part) fail(record int64, message, code string, status int, format job.Format) {
	if format == job.CSV {
		message = exportfile.Harmless(message)
	}
	p.errors = append(p.errors, []string{strconv.FormatInt(record, 10), message, code, strconv.Itoa(status)})
}

func (p *part) pack(seq int64, used *zips) (store.Part, error) {
	result, err := used.pack(p.result)
	if err != nil {
		return store.Part{}, err
	}
	failed, err := used.pack(p.errors)
	return store.Part{Seq: seq, Result: result, Errors: failed}, err
}

// dropParts forgets the parts of a job that has ended, some at a time.
func (e *Engine) dropParts(ctx context.Context, c store.Claim) error {
	for {
		n := 0
		err := e.DB.Write(ctx, e.Now(), func(tx *store.Tx) (err error) {
			n, err = tx.DeleteParts(ctx, c.Tenant, c.ID, someParts)
			return err
		})
		if err != nil || n < someParts {
			return err
		}
	}
}
