package jobs

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/csv"
	"errors"
	"strconv"
	"strings"

	"kith/backend/store"
	"kith/backend/store/jobdb"
	"kith/core/exportfile"
	"kith/core/job"
)

// part collects the rows that a batch has to tell, which are packed when no more
// come: they wait in the database until the job ends, since most buckets cannot add
// to a file.
type part struct {
	result, errors [][]string
}

// packer packs the parts of an import, one after the other. What it packs with has a
// megabyte, and a batch takes a few hundredths of a second.
type packer struct{ zip *flate.Writer }

// pack packs rows; none are nothing.
func (p *packer) pack(rows [][]string) (_ []byte, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	var packed bytes.Buffer
	if p.zip == nil {
		if p.zip, err = flate.NewWriter(&packed, flate.BestSpeed); err != nil {
			return nil, err
		}
	}
	p.zip.Reset(&packed)
	err = errors.Join(csv.NewWriter(p.zip).WriteAll(rows), p.zip.Close())
	return packed.Bytes(), err
}

// add adds the result of a row that was applied.
func (p *part) add(row []string) { p.result = append(p.result, row) }

// fail adds a row that was refused.
func (p *part) fail(record int64, message, code string, status int, format job.Format) {
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	if format == job.CSV {
		message = exportfile.Harmless(message)
	}
	p.errors = append(p.errors, []string{strconv.FormatInt(record, 10), message, code, strconv.Itoa(status)})
}

func (p *part) pack(seq int64, by *packer) (jobdb.Chunk, error) {
	result, err := by.pack(p.result)
	if err != nil {
		return jobdb.Chunk{}, err
	}
	failed, err := by.pack(p.errors)
	return jobdb.Chunk{Seq: seq, Result: result, Errors: failed}, err
}

// mostDropped is how many parts one transaction forgets, of some 50 kB each.
const mostDropped = 64

// dropMore forgets what is left of the parts of a job that has ended, after the last
// so many, also when the worker is told to stop: nobody would look for them before
// the job itself is forgotten.
func (js *Jobs) dropMore(ctx context.Context, c jobdb.Lease, dropped int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	for dropped == mostDropped {
		err := js.DB.Write(ctx, js.Now(), func(tx *store.Tx) (err error) {
			dropped, err = jobdb.DeleteChunks(ctx, tx, c.Tenant, c.ID, mostDropped)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
