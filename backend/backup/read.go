package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"kith/backend/file"
	"kith/backend/store"
	"kith/backend/store/tabledb"
	"kith/core"
)

// Target is the destination of a restore.
type Target struct {
	// DB and Files are nil if the database does not exist yet. Then Create makes it after the
	// archive was verified, and returns both.
	DB     *store.Primary
	Files  file.Store
	Create func() (*store.Primary, file.Store, error)
	// Tenant is the one tenant to restore, empty for all. The archive may have more.
	Tenant core.TenantAlias
	// Now is the clock.
	Now func() core.Time
	// Identities decrypt the archive, if it is encrypted.
	Identities []age.Identity
	// Check is called after the whole archive was verified, and before anything is
	// written. It decides whether to trust the signature. nil trusts every archive.
	Check func(Header, Trailer) error
	// Progress is called from time to time with the number of rows and files read.
	Progress func(n int64)
}

// Verify reads an archive to its end, and returns an error if it is truncated or
// changed. Identities decrypt it, if it is encrypted.
func Verify(from io.Reader, identities ...age.Identity) (Header, Trailer, error) {
	r, err := NewReader(from, identities...)
	if err != nil {
		return Header{}, Trailer{}, err
	}
	for {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			return r.Header, r.Trailer, nil
		} else if err != nil {
			return Header{}, Trailer{}, err
		}
	}
}

// Restore restores an archive: all of it into an empty database, or one tenant into a
// database with others. It reads the archive twice, and writes no row before it has verified
// all of it: only the mark of tabledb.Run.Announce, which it removes if it refuses the archive.
//
// A killed restore of all tenants leaves a database on which nothing else starts
// (store.BeginRestore); that of one tenant leaves rows of a tenant that does not exist.
// Calling Restore again starts from the beginning.
//
// Of two calls that restore the same at once the later one wins, and the earlier one
// returns an error of the code conflict.
//
// It returns the numbers of restored rows and files.
func Restore(ctx context.Context, t Target, open func() (io.ReadCloser, error)) (Trailer, error) {
	run, announced := tabledb.NewRun(t.Tenant), false
	var err error
	if t.DB != nil && t.Tenant == "" {
		if announced, err = run.Announce(ctx, t.DB, t.Now()); err != nil {
			return Trailer{}, err
		}
	}
	h, trailer, err := t.examine(open)
	if err == nil && t.DB == nil {
		t.DB, t.Files, err = t.Create()
	}
	if err != nil {
		if announced {
			err = errors.Join(err, run.Withdraw(context.WithoutCancel(ctx), t.DB, t.Now()))
		}
		return trailer, err
	}
	r := &restoring{Target: t, run: run, header: h, trailer: trailer, tables: map[string]tabledb.Table{}, rows: map[string]int64{}}
	if t.Tenant != "" {
		err = r.one(ctx, open)
	} else {
		err = r.all(ctx, open)
	}
	return Trailer{Rows: r.rows, Files: r.files}, err
}

// examine verifies an archive, and returns an error if it cannot be restored into the target.
func (t Target) examine(open func() (io.ReadCloser, error)) (Header, Trailer, error) {
	h, trailer, err := t.verify(open)
	switch {
	case err != nil:
		return h, trailer, err
	case h.Kind != Backup:
		return h, trailer, core.Invalid("file", "is an export, which has no secrets and cannot be restored; give a backup")
	case h.Tenant != "" && t.Tenant != h.Tenant:
		return h, trailer, core.Invalid("tenant", "must be "+string(h.Tenant)+", the only tenant in the file; give it with --tenant")
	case t.Tenant != "" && !slices.Contains(h.Tenants, t.Tenant):
		return h, trailer, core.Invalid("tenant", "is not in the file, which has "+names(h.Tenants))
	}
	if err = store.CheckBackup(h.Schema); err == nil && t.Check != nil {
		err = t.Check(h, trailer)
	}
	return h, trailer, err
}

func names(tenants []core.TenantAlias) string {
	const limit = 20
	var list []string
	for _, t := range tenants[:min(len(tenants), limit)] {
		list = append(list, string(t))
	}
	if len(tenants) > limit {
		list = append(list, fmt.Sprintf("and %d more", len(tenants)-limit))
	}
	return strings.Join(list, ", ")
}

func (t Target) verify(open func() (io.ReadCloser, error)) (Header, Trailer, error) {
	from, err := open()
	if err != nil {
		return Header{}, Trailer{}, err
	}
	defer from.Close()
	return Verify(from, t.Identities...)
}

// restoring is a running restore.
type restoring struct {
	Target
	header  Header
	trailer Trailer
	tables  map[string]tabledb.Table
	// rows and files are the numbers of restored rows and files.
	rows  map[string]int64
	files int64
	n     int64
	how   tabledb.Load
	run   tabledb.Run
	// tenant is the row of the restored tenant, which is written last.
	tenant []byte
	// sizer has the rows of a transaction of the table loading, if others are served meanwhile.
	sizer   *store.BatchSizer
	loading string
}

// all restores into an empty database.
func (r *restoring) all(ctx context.Context, open func() (io.ReadCloser, error)) error {
	if err := tabledb.BeginRestore(ctx, r.DB, r.Now(), r.run, r.header.Schema); err != nil {
		return err
	}
	if err := r.load(ctx, open); err != nil {
		return err
	}
	for table, n := range r.trailer.Rows {
		if r.rows[table] != n {
			return fmt.Errorf("archive: restored %d rows of %s, want %d", r.rows[table], table, n)
		}
	}
	return tabledb.EndRestore(ctx, r.DB, r.Now(), r.run)
}

// one restores one tenant into a database with others. The tenant's own row is written
// last: until then no call of the tenant is answered and no worker serves it.
func (r *restoring) one(ctx context.Context, open func() (io.ReadCloser, error)) error {
	if err := r.DB.Restoring(ctx); err != nil {
		return err
	}
	schema, err := r.DB.Migrations(ctx)
	if err != nil {
		return err
	}
	if !slices.Equal(schema, r.header.Schema) {
		return core.Invalid("file", fmt.Sprintf("has schema %d of kith %s, but the database has schema %d; restore the whole file into an empty database, which updates it, and back up the tenant from there",
			newest(r.header.Schema), r.header.Kith, newest(schema)))
	}
	err = r.DB.Write(ctx, r.Now(), func(tx *store.Tx) error {
		present, err := tabledb.Aliases(ctx, tx.Reads)
		if err == nil && slices.Contains(present, r.Tenant) {
			err = &core.Error{Code: core.CodeConflict, Field: "tenant", Message: "exists already; remove it with kith tenant erase"}
		}
		if err != nil {
			return err
		}
		return r.run.Begin(ctx, tx)
	})
	if err != nil {
		return err
	}
	// An earlier restore or erasure that was killed may have left rows.
	if err := EraseRows(ctx, r.DB, r.Files, r.Now, r.run, nil); err != nil {
		return err
	}
	r.how.Tenant = r.Tenant
	if r.how.Shift, err = tabledb.IntakeShift(ctx, r.DB.Reads, r.header.Intake); err != nil {
		return err
	}
	if err := r.load(ctx, open); err != nil {
		return err
	}
	n, err := store.WriteValue(ctx, r.DB.WriteWithoutForeignKeys, r.Now(), func(tx *store.Tx) (int, error) {
		if err := r.run.End(ctx, tx); err != nil {
			return 0, err
		}
		if err := tabledb.Requeue(ctx, tx, r.tables[intakeTable], r.Tenant, r.header.Intake, r.how.Shift); err != nil {
			return 0, err
		}
		return tabledb.LoadRows(ctx, tx, r.tables[tenantTable], r.tenant, r.how)
	})
	r.rows[tenantTable] = int64(n)
	return err
}

func newest(schema []int) int {
	if len(schema) == 0 {
		return 0
	}
	return slices.Max(schema)
}

const (
	tenantTable = "tenant"
	intakeTable = "intake"
)

func (r *restoring) load(ctx context.Context, open func() (io.ReadCloser, error)) error {
	all, err := tabledb.Tables(ctx, r.DB.Reads)
	if err != nil {
		return err
	}
	for _, t := range all {
		r.tables[t.Name] = t
	}
	for name, has := range r.header.Tables {
		if want := columns(r.tables[name], func(tabledb.Column) bool { return true }); !slices.Equal(has, want) {
			return fmt.Errorf("archive: table %s has the columns %v in the file, but %v in a database of its schema", name, has, want)
		}
	}
	from, err := open()
	if err != nil {
		return err
	}
	defer from.Close()
	reader, err := NewReader(from, r.Identities...)
	if err != nil {
		return err
	}
	for {
		entry, err := reader.Next()
		if errors.Is(err, io.EOF) {
			if reader.Trailer.SHA256 != r.trailer.SHA256 {
				return errors.New("archive: the file was changed while it was restored")
			}
			return nil
		}
		if err == nil {
			err = r.loadEntry(ctx, entry)
		}
		if err != nil {
			return err
		}
	}
}

func (r *restoring) loadEntry(ctx context.Context, entry Entry) error {
	if entry.Table == "" {
		return r.file(ctx, entry)
	}
	t, ok := r.tables[entry.Table]
	if !ok || r.header.Tables[entry.Table] == nil {
		return fmt.Errorf("archive: the header of the file does not list table %s", entry.Table)
	}
	r.step(int64(bytes.Count(entry.Rows, []byte{'\n'})))
	if r.Tenant != "" && t.Tenant == "" {
		return nil
	}
	if r.Tenant != "" && t.Name == tenantTable {
		r.tenant = append(r.tenant, entry.Rows...)
		return nil
	}
	if r.Tenant != "" && r.loading != t.Name {
		r.sizer, r.loading = newSizer(r.DB), t.Name
	}
	for rows := entry.Rows; len(rows) > 0; {
		part, begun := rows, time.Now()
		if r.sizer != nil {
			part = firstLines(rows, r.sizer.Size())
		}
		n, err := store.WriteValue(ctx, r.DB.WriteWithoutForeignKeys, r.Now(), func(tx *store.Tx) (int, error) {
			if err := r.run.Check(ctx, tx); err != nil {
				return 0, err
			}
			return tabledb.LoadRows(ctx, tx, t, part, r.how)
		})
		if err != nil {
			return err
		}
		r.rows[t.Name] += int64(n)
		if r.sizer != nil {
			r.sizer.Took(bytes.Count(part, []byte{'\n'}), time.Since(begun))
			time.Sleep(r.sizer.Pause)
		}
		rows = rows[len(part):]
	}
	return nil
}

// firstLines returns the first lines of a text, up to n.
func firstLines(text []byte, n int) []byte {
	end := 0
	for ; n > 0; n-- {
		line := bytes.IndexByte(text[end:], '\n')
		if line < 0 {
			return text
		}
		end += line + 1
	}
	return text[:end]
}

func (r *restoring) step(n int64) {
	if r.n += n; r.Progress != nil {
		r.Progress(r.n)
	}
}

// file stores a file. The second element of its name is the tenant.
func (r *restoring) file(ctx context.Context, entry Entry) error {
	r.step(1)
	if path := strings.SplitN(string(entry.File), "/", 3); r.Tenant != "" && (len(path) < 3 || path[1] != string(r.Tenant)) {
		return nil
	}
	w, err := r.Files.Create(ctx, entry.File)
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := io.Copy(w, entry.Content); err != nil {
		return fmt.Errorf("archive: %s: %w", entry.File, err)
	}
	r.files++
	return w.Close()
}
