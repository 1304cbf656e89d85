package backup

import (
	"context"
	"fmt"
	"io"
	"slices"

	"kith/backend/file"
	"kith/backend/store"
	"kith/backend/store/jobdb"
	"kith/backend/store/tabledb"
)

// Compare compares a database and files with what was restored into them: the number of
// rows of each table, and the size of each file. It returns the first difference, or "". A
// migration may add, remove and split rows, so rows are compared only if there was none.
func Compare(ctx context.Context, db *store.Primary, files file.Store, h Header, restored Trailer) (problem string, err error) {
	all, err := tabledb.Tables(ctx, db.Reads)
	if err != nil {
		return "", err
	}
	schema, err := db.Migrations(ctx)
	if err != nil {
		return "", err
	}
	for _, t := range all {
		want, ok := restored.Rows[t.Name]
		if !ok || !slices.Equal(schema, h.Schema) {
			continue
		}
		if n, err := tabledb.Count(ctx, db.Reads, t); err != nil || n != want {
			return fmt.Sprintf("table %s has %s, and the backup has %d", t.Name, count(n, "row"), want), err
		}
	}
	if restored.Files == 0 {
		return "", nil // the database may name files that the backup left out
	}
	kept, err := jobdb.Files(ctx, db.Reads, h.Tenant)
	if err != nil {
		return "", err
	}
	n := int64(0)
	for _, f := range kept {
		if f.Size < 0 {
			continue
		}
		size, err := sizeOf(ctx, files, f)
		if err != nil && f.Expires <= h.Time {
			continue // it had expired and was not in the backup
		}
		if err != nil || size != f.Size {
			return fmt.Sprintf("file %s has %d bytes, and the database names %d", f.Ref, size, f.Size), err
		}
		n++
	}
	if n < restored.Files {
		return fmt.Sprintf("the database names %s, and the backup has %d", count(n, "file"), restored.Files), nil
	}
	return "", nil
}

func sizeOf(ctx context.Context, files file.Store, f jobdb.File) (int64, error) {
	content, err := files.Open(ctx, f.Ref, 0)
	if err != nil {
		return 0, err
	}
	defer content.Close()
	return io.Copy(io.Discard, content)
}
