package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"kith/backend/file"
	"kith/backend/store"
	"kith/backend/store/tabledb"
	"kith/core"
)

// Target is what an archive is restored into.
type Target struct {
	DB    *store.Primary
	Files file.Store
	// Tenant is the one to bring back, empty for all. The archive may hold more.
	Tenant core.TenantAlias
	// Now is the clock.
	Now func() core.Time
	// Check is called when the whole archive was verified, before anything is
	// written: it decides whether to trust the signature. nil trusts all.
	Check func(Header, Trailer) error
	// Progress is told how many rows and files were read, now and then.
	Progress func(n int64)
}

// Verify reads an archive to its end, and returns an error when it is not as it
// was written.
func Verify(from io.Reader) (Header, Trailer, error) {
	r, err := NewReader(from)
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

// Restore brings back what an archive holds: all of it into an empty database,
// or one tenant beside others. It reads the archive twice: nothing is written
// before all of it was found to be whole.
//
// A restore that is killed leaves a database on which nothing else starts
// (store.BeginRestore), or rows of a tenant who is not there; begun again, it
// starts over.
//
// It returns what was brought back.
func Restore(ctx context.Context, t Target, open func() (io.ReadCloser, error)) (Trailer, error) {
	h, trailer, err := verify(open)
	if err != nil {
		return trailer, err
	}
	if h.Kind != Backup {
		return trailer, core.Invalid("file", "is an export: it has no secrets, and cannot be restored")
	}
	if err := store.CheckBackup(h.Schema); err != nil {
		return trailer, err
	}
	if h.Tenant != "" && t.Tenant != h.Tenant {
		return trailer, core.Invalid("tenant", "must be "+string(h.Tenant)+": the file has this tenant alone")
	}
	if t.Tenant != "" && !slices.Contains(h.Tenants, t.Tenant) {
		return trailer, core.Invalid("tenant", "is not in the file, which has "+names(h.Tenants))
	}
	if t.Check != nil {
		if err := t.Check(h, trailer); err != nil {
			return trailer, err
		}
	}
	r := &restoring{Target: t, header: h, trailer: trailer, tables: map[string]tabledb.Table{}, rows: map[string]int64{}}
	if t.Tenant != "" {
		err = r.one(ctx, open)
	} else {
		err = r.all(ctx, open)
	}
	return Trailer{Rows: r.rows, Files: r.files}, err
}

func names(tenants []core.TenantAlias) string {
	const most = 20
	var list []string
	for _, t := range tenants[:min(len(tenants), most)] {
		list = append(list, string(t))
	}
	if len(tenants) > most {
		list = append(list, fmt.Sprintf("and %d more", len(tenants)-most))
	}
	return strings.Join(list, ", ")
}

func verify(open func() (io.ReadCloser, error)) (Header, Trailer, error) {
	from, err := open()
	if err != nil {
		return Header{}, Trailer{}, err
	}
	defer from.Close()
	return Verify(from)
}

// restoring is a restore under way.
type restoring struct {
	Target
	header  Header
	trailer Trailer
	tables  map[string]tabledb.Table
	// rows and files are what was brought back.
	rows  map[string]int64
	files int64
	n     int64
	how   tabledb.Load
	// tenant is the row of the tenant who is brought back: the last that comes.
	tenant []byte
}

// all restores into an empty database.
func (r *restoring) all(ctx context.Context, open func() (io.ReadCloser, error)) error {
	if err := tabledb.BeginRestore(ctx, r.DB, r.Now(), r.header.Schema); err != nil {
		return err
	}
	if err := r.load(ctx, open); err != nil {
		return err
	}
	for table, n := range r.trailer.Rows {
		if r.rows[table] != n {
			return fmt.Errorf("archive: %d rows of %s were restored, and %d should be", r.rows[table], table, n)
		}
	}
	return tabledb.EndRestore(ctx, r.DB, r.Now())
}

// one restores a tenant beside others. The tenant's own row comes last: before
// it is there, no call is answered and no worker does anything.
func (r *restoring) one(ctx context.Context, open func() (io.ReadCloser, error)) error {
	if err := r.DB.Restoring(ctx); err != nil {
		return err
	}
	schema, err := r.DB.Migrations(ctx)
	if err != nil {
		return err
	}
	if !slices.Equal(schema, r.header.Schema) {
		return core.Invalid("file", fmt.Sprintf("has the schema %d of kith %s, and the database has %d: restore the whole file into an empty database, which brings it up to date, and back the tenant up from there",
			newest(r.header.Schema), r.header.Kith, newest(schema)))
	}
	present, err := tabledb.Aliases(ctx, r.DB.Reads)
	if err != nil {
		return err
	}
	if slices.Contains(present, r.Tenant) {
		return &core.Error{Code: core.CodeConflict, Field: "tenant", Message: "is there already: kith tenant erase removes it"}
	}
	// Of a restore or of an erasure that did not end.
	if err := EraseRows(ctx, r.DB, r.Files, r.Now, r.Tenant, nil); err != nil {
		return err
	}
	r.how.Tenant = r.Tenant
	if r.how.Shift, err = tabledb.IntakeShift(ctx, r.DB.Reads, r.header.Intake); err != nil {
		return err
	}
	if err := r.load(ctx, open); err != nil {
		return err
	}
	return r.DB.Unchecked(ctx, r.Now(), func(tx *store.Tx) error {
		if err := tabledb.Requeue(ctx, tx, r.Tenant, r.header.Intake, r.how.Shift); err != nil {
			return err
		}
		n, err := tabledb.LoadRows(ctx, tx, r.tables[tenantTable], r.tenant, r.how)
		r.rows[tenantTable] = int64(n)
		return err
	})
}

func newest(schema []int) int {
	if len(schema) == 0 {
		return 0
	}
	return slices.Max(schema)
}

const tenantTable = "tenant"

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
			return fmt.Errorf("archive: the table %s has the columns %v in the file, and in a database of its schema %v", name, has, want)
		}
	}
	from, err := open()
	if err != nil {
		return err
	}
	defer from.Close()
	reader, err := NewReader(from)
	if err != nil {
		return err
	}
	for {
		part, err := reader.Next()
		if errors.Is(err, io.EOF) {
			if reader.Trailer.SHA256 != r.trailer.SHA256 {
				return errors.New("archive: the file was changed while it was restored")
			}
			return nil
		}
		if err == nil {
			err = r.take(ctx, part)
		}
		if err != nil {
			return err
		}
	}
}

func (r *restoring) take(ctx context.Context, part Part) error {
	if part.Table == "" {
		return r.file(ctx, part)
	}
	t, ok := r.tables[part.Table]
	if !ok || r.header.Tables[part.Table] == nil {
		return fmt.Errorf("archive: the file says nothing of the table %s", part.Table)
	}
	r.step(int64(bytes.Count(part.Rows, []byte{'\n'})))
	if r.Tenant != "" && t.Tenant == "" {
		return nil
	}
	if r.Tenant != "" && t.Name == tenantTable {
		r.tenant = append(r.tenant, part.Rows...)
		return nil
	}
	n := 0
	err := r.DB.Unchecked(ctx, r.Now(), func(tx *store.Tx) (err error) {
		n, err = tabledb.LoadRows(ctx, tx, t, part.Rows, r.how)
		return err
	})
	r.rows[t.Name] += int64(n)
	return err
}

func (r *restoring) step(n int64) {
	if r.n += n; r.Progress != nil {
		r.Progress(r.n)
	}
}

// file puts a file where files are kept. Its second part names the tenant.
func (r *restoring) file(ctx context.Context, part Part) error {
	r.step(1)
	if path := strings.SplitN(string(part.File), "/", 3); r.Tenant != "" && (len(path) < 3 || path[1] != string(r.Tenant)) {
		return nil
	}
	w, err := r.Files.Create(ctx, part.File)
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := io.Copy(w, part.Content); err != nil {
		return fmt.Errorf("archive: %s: %w", part.File, err)
	}
	r.files++
	return w.Close()
}
