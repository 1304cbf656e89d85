package backup

import (
	"context"
	"fmt"
	"io"
	"slices"

	"filippo.io/age"

	"kith/backend/file"
	"kith/backend/store"
	"kith/backend/store/jobdb"
	"kith/backend/store/tabledb"
	"kith/core"
	"kith/core/auth"
)

// Source is what Write archives.
type Source struct {
	DB    *store.Primary
	Files file.Store
	// Kind is Backup or Export.
	Kind Kind
	// Tenant is the one tenant to archive, empty for all.
	Tenant core.TenantAlias
	// NoFiles leaves the files of jobs out.
	NoFiles bool
	// Kith is the version of this program, and Now the time.
	Kith string
	Now  core.Time
	// Signer signs the archive; nil leaves it unsigned.
	Signer *auth.Signer
	// Recipients can decrypt the archive; without recipients it is not encrypted.
	Recipients []age.Recipient
	// KeyCheck and MasterKey are copied to the header.
	KeyCheck, MasterKey string
	// Progress is called from time to time with the number of rows and files written.
	Progress func(n int64)
}

// secrets are the columns that an export leaves out: sealed secrets and hashes of keys.
var secrets = map[string][]string{
	"tenant":               {"key_hash", "key_sealed"},
	"api_key":              {"hash", "sealed"},
	"webhook_subscription": {"secret", "old_secret"},
	"gateway_key":          {"private_key"},
	"pipeline":             {"secret", "old_secret"},
	"invitation":           {"hash"},
}

// Write archives the database as of one point in time, while other processes continue
// to write, and then the files of its jobs. A missing file is an error, unless it has
// expired.
func Write(ctx context.Context, s Source, to io.Writer) (done Trailer, err error) {
	if len(s.Recipients) == 0 {
		return write(ctx, s, to)
	}
	encrypted, err := age.Encrypt(to, s.Recipients...)
	if err != nil {
		return done, err
	}
	if done, err = write(ctx, s, encrypted); err != nil {
		return done, err
	}
	return done, encrypted.Close()
}

// write archives without encryption.
func write(ctx context.Context, s Source, to io.Writer) (done Trailer, err error) {
	if err := s.DB.Restoring(ctx); err != nil {
		return done, err
	}
	w := &writing{Source: s}
	err = s.DB.Snapshot(ctx, func(r store.Reads) error {
		w.all, err = w.wanted(ctx, r)
		if err != nil {
			return err
		}
		h, err := s.header(ctx, r, w.all)
		if err == nil {
			w.Writer, err = NewWriter(to, h)
		}
		if err != nil {
			return err
		}
		w.Writer.Signer = s.Signer
		return w.tables(ctx, r)
	})
	if err == nil {
		err = w.files(ctx)
	}
	if err != nil {
		return done, err
	}
	return w.Close()
}

// wanted returns the tables to archive.
func (s Source) wanted(ctx context.Context, r store.Reads) ([]tabledb.Table, error) {
	all, err := tabledb.Tables(ctx, r)
	return slices.DeleteFunc(all, func(t tabledb.Table) bool { return t.Derived || s.Tenant != "" && t.Tenant == "" }), err
}

// keep reports whether the archive has a column.
func (s Source) keep(t tabledb.Table, c tabledb.Column) bool {
	return s.Kind == Backup || !slices.Contains(secrets[t.Name], c.Name)
}

func (s Source) header(ctx context.Context, r store.Reads, tables []tabledb.Table) (h Header, err error) {
	h = Header{
		Format: Format, Kind: s.Kind, Kith: s.Kith, Time: s.Now, Tenant: s.Tenant, KeyCheck: s.KeyCheck, MasterKey: s.MasterKey,
		Tables: map[string][]string{},
	}
	for _, t := range tables {
		h.Tables[t.Name] = columns(t, func(c tabledb.Column) bool { return s.keep(t, c) })
	}
	if h.Schema, err = r.Migrations(ctx); err != nil {
		return h, err
	}
	if len(h.Schema) == 0 {
		return h, core.NotFound("the database is empty; nothing to back up")
	}
	if h.Tenants, err = tabledb.Aliases(ctx, r); err != nil {
		return h, err
	}
	if s.Tenant != "" {
		if !slices.Contains(h.Tenants, s.Tenant) {
			return h, core.UnknownTenant()
		}
		h.Tenants = []core.TenantAlias{s.Tenant}
	}
	h.Intake, err = tabledb.ReadIntakePosition(ctx, r)
	return h, err
}

func columns(t tabledb.Table, keep func(tabledb.Column) bool) (names []string) {
	for _, c := range t.Columns {
		if keep(c) {
			names = append(names, c.Name)
		}
	}
	return names
}

// writing is a running backup.
type writing struct {
	*Writer
	Source
	n    int64
	all  []tabledb.Table
	kept []jobdb.File
}

func (w *writing) tables(ctx context.Context, r store.Reads) (err error) {
	for _, t := range w.all {
		if err := w.Table(t.Name); err != nil {
			return err
		}
		keep := func(c tabledb.Column) bool { return w.keep(t, c) }
		err := tabledb.Dump(ctx, r, t, w.Tenant, keep, func(line []byte) error {
			w.step()
			return w.Row(line)
		})
		if err != nil {
			return err
		}
	}
	if w.NoFiles {
		return nil
	}
	w.kept, err = jobdb.Files(ctx, r, w.Tenant)
	return err
}

func (w *writing) step() {
	if w.n++; w.Progress != nil {
		w.Progress(w.n)
	}
}

// files adds the files. A file never changes, but one that expires may be removed meanwhile.
func (w *writing) files(ctx context.Context) error {
	for _, f := range w.kept {
		if f.Size < 0 {
			continue // it was not complete yet
		}
		content, err := w.Source.Files.Open(ctx, f.Ref, 0)
		if err == nil {
			err = w.File(f.Ref, f.Size, content)
			if closeErr := content.Close(); err == nil {
				err = closeErr
			}
			if err != nil {
				return err
			}
			w.step()
			continue
		}
		if f.Expires > w.Now {
			return fmt.Errorf("archive: the file %s is not in the file store; correct KITH_FILES, or leave files out by --no-files: %w", f.Ref, err)
		}
	}
	return nil
}

// checkText is the text in a header's KeyCheck.
const (
	checkPlace = "archive"
	checkText  = "kith"
)

// KeyCheck seals a known text, by which SameKey later recognizes the key.
func KeyCheck(keys auth.Keyring, nonce [auth.NonceSize]byte) (string, error) {
	return keys.Seal(checkPlace, checkText, nonce)
}

// SameKey reports whether the archive was written under the given master key. It
// reports true for an archive without a KeyCheck.
func (h Header) SameKey(keys auth.Keyring) bool {
	text, err := keys.Open(checkPlace, h.KeyCheck)
	return h.KeyCheck == "" || err == nil && text == checkText
}
