package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"kith/backend/store"
	"kith/backend/store/jobdb"
	"kith/core"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/wire"
)

// Propose is Check for people, who have given no mapping yet: it uses the one that was chosen
// last for a file with this header, or else a guess if the header has problems.
func (js *Jobs) Propose(ctx context.Context, tenant core.TenantAlias, t job.Type, ref core.FileRef, most int) (c Checked, err error) {
	names, err := js.header(ctx, tenant, t, ref)
	if err != nil || names == nil {
		if _, err = problemsOf(err); err != nil {
			return c, err
		}
		return js.Check(ctx, tenant, t, ref, nil, most)
	}
	columns, err := js.remembered(ctx, tenant, t, names)
	if err != nil {
		return c, err
	}
	known := columns != nil
	if !known {
		if _, problems := importfile.ParseHeader(t, names, nil); len(problems) > 0 {
			columns = importfile.Guess(t, names)
		}
	}
	c, err = js.Check(ctx, tenant, t, ref, columns, most)
	c.Remembered, c.Guessed = known, !known && len(columns) > 0
	return c, err
}

// Remember keeps the mapping that a person chose for a file, for the next ones with its header.
func (js *Jobs) Remember(ctx context.Context, tenant core.TenantAlias, t job.Type, ref core.FileRef, columns importfile.Mapping) error {
	names, err := js.header(ctx, tenant, t, ref)
	if err != nil || names == nil {
		return err
	}
	return js.DB.Write(ctx, js.Now(), func(tx *store.Tx) error {
		return jobdb.PutColumns(ctx, tx, tenant, t, headerHash(names), string(wire.Columns(columns)))
	})
}

// remembered returns the mapping that was chosen last for files with a header, or nil.
func (js *Jobs) remembered(ctx context.Context, tenant core.TenantAlias, t job.Type, names []string) (importfile.Mapping, error) {
	text, err := jobdb.Columns(ctx, js.DB.Reads, tenant, t, headerHash(names))
	if err != nil || text == "" {
		return nil, err
	}
	p, err := wire.ParseJobParams(t, wire.ColumnsParam(text))
	return p.Columns, err
}

// header returns the names of the columns of a CSV file, or nil for a JSONL file.
func (js *Jobs) header(ctx context.Context, tenant core.TenantAlias, t job.Type, ref core.FileRef) ([]string, error) {
	s, err := js.openSource(ctx, input{tenant: tenant, typ: t, ref: ref, columns: importfile.Mapping{}})
	if err == nil {
		_ = s.close() // it was only read
	} else if _, ok := errors.AsType[headerProblems](err); !ok {
		return nil, err
	}
	return s.layout.Names, nil
}

// headerHash returns the hash of a header, which is that of its corrected file too.
func headerHash(names []string) string {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == importfile.ProblemColumn })
	sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
	return hex.EncodeToString(sum[:])
}
