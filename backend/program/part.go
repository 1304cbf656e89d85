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

// part collects what the rows of a batch have to tell, packed: it waits in the
// database until the job ends, since most buckets cannot add to a file.
type part struct {
	result, errors packer
	failed         int64
}

// packer packs rows.
type packer struct {
	*zips
	packed bytes.Buffer
	zip    *flate.Writer
	rows   *csv.Writer
}

// zips are what packers of an import have used, for its next ones: each has a
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

func newPart(used *zips) *part { return &part{result: packer{zips: used}, errors: packer{zips: used}} }

func (p *packer) add(row []string) (err error) {
	if p.rows == nil {
		if p.zip, err = p.to(&p.packed); err != nil {
			return err
		}
		p.rows = csv.NewWriter(p.zip)
	}
	return p.rows.Write(row)
}

func (p *packer) close() ([]byte, error) {
	if p.rows == nil {
		return nil, nil
	}
	p.rows.Flush()
	err := errors.Join(p.rows.Error(), p.zip.Close())
	*p.zips = append(*p.zips, p.zip)
	return p.packed.Bytes(), err
}

// add tells of a row that was carried out.
func (p *part) add(row []string) error { return p.result.add(row) }

// fail tells of a row that was not.
func (p *part) fail(record int64, message, code string, status int, format job.Format) error {
	p.failed++
	if format == job.CSV {
		message = exportfile.Harmless(message)
	}
	return p.errors.add([]string{strconv.FormatInt(record, 10), message, code, strconv.Itoa(status)})
}

func (p *part) pack(seq int64) (store.Part, error) {
	result, err := p.result.close()
	if err != nil {
		return store.Part{}, err
	}
	failed, err := p.errors.close()
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
