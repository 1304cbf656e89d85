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

// chunkRows collects the rows that a batch adds to the result file and the errors file
// of an import. They are stored in the database as a compressed chunk until the job
// ends, because most object stores cannot append to a file.
type chunkRows struct {
	result, errors [][]string
}

// compressor compresses the chunks of an import, one after the other. It reuses its
// flate.Writer, because that needs a megabyte of memory and there are many batches a
// second.
type compressor struct{ zip *flate.Writer }

// compress returns rows as compressed CSV, or nil for no rows.
func (c *compressor) compress(rows [][]string) (_ []byte, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	var compressed bytes.Buffer
	if c.zip == nil {
		if c.zip, err = flate.NewWriter(&compressed, flate.BestSpeed); err != nil {
			return nil, err
		}
	}
	c.zip.Reset(&compressed)
	err = errors.Join(csv.NewWriter(c.zip).WriteAll(rows), c.zip.Close())
	return compressed.Bytes(), err
}

// fail adds a row of the errors file: the error of the row with the number row.
func (c *chunkRows) fail(row int64, message, code string, status int, format job.Format) {
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	if format == job.CSV {
		message = exportfile.Harmless(message)
	}
	c.errors = append(c.errors, []string{strconv.FormatInt(row, 10), message, code, strconv.Itoa(status)})
}

// chunkBatch is the number of chunks, of some 50 kB each, that one transaction deletes at
// most.
const chunkBatch = 64

// dropChunks deletes the remaining chunks of a job that has ended. dropped is the number
// of chunks that the last transaction deleted. It continues for releaseTimeout even if
// ctx is cancelled: otherwise the chunks would stay until the job itself is removed.
func (js *Jobs) dropChunks(ctx context.Context, l jobdb.Lease, dropped int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	for dropped == chunkBatch {
		var err error
		dropped, err = store.WriteValue(ctx, js.DB.Write, js.Now(), func(tx *store.Tx) (int, error) {
			return jobdb.DeleteChunks(ctx, tx, l.Tenant, l.ID, chunkBatch)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
