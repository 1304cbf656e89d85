package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"kith/core"
)

// RestoringTable is the name of a table that exists only while a restore is in
// progress.
const RestoringTable = "restoring"

// RunningTenants is the name of the table of the tenants that are being restored or erased.
const RunningTenants = "restoring_tenant"

// Restoring returns an error of the code conflict if a restore of the database was
// begun and has not ended.
func (r Reads) Restoring(ctx context.Context) error {
	is, err := r.HasTable(ctx, RestoringTable)
	if err != nil || !is {
		return err
	}
	return &core.Error{Code: core.CodeConflict, Message: "a restore into this database was begun and has not ended: run kith restore again; it starts from the beginning"}
}

//go:embed migration/*.sql
var schemaFiles embed.FS

// migration is one numbered script that changes the schema.
type migration struct {
	version      int
	name, script string
}

// Migrate brings the schema up to date. Migrations are numbered and only go
// forward. Each runs in one transaction, which also records that it was applied;
// several processes may migrate at once. Migrate returns an error if the database is
// being restored, if CheckReleased does, or if a newer version of kith changed its schema.
func (p *Primary) Migrate(ctx context.Context, now core.Time) error {
	if err := p.Restoring(ctx); err != nil {
		return err
	}
	if err := p.CheckReleased(ctx); err != nil {
		return err
	}
	schema, err := p.Schema(ctx)
	if err == nil {
		err = schema.Newer()
	}
	if err != nil {
		return err
	}
	return p.MigrateTo(ctx, now, nil, func(ctx context.Context, tx *Tx) error { return tx.Restoring(ctx) })
}

// MigrateTo applies the migrations with the given numbers, such as those of a
// backup, or all if versions is empty. Unlike Migrate it checks nothing before. Each
// transaction calls check first, and an error of it ends the migration.
func (p *Primary) MigrateTo(ctx context.Context, now core.Time, versions []int, check func(context.Context, *Tx) error) error {
	all, err := knownMigrations()
	if err == nil && len(versions) > 0 {
		all, err = migrationsOf(all, versions)
	}
	if err != nil {
		return err
	}
	return p.migrateBy(ctx, now, all, check)
}

// knownMigrations returns the migrations of this program in their order.
func knownMigrations() ([]migration, error) { return readMigrations(schemaFiles) }

func readMigrations(from fs.FS) (all []migration, err error) {
	names, err := fs.Glob(from, "migration/*.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		script, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, err
		}
		name = strings.TrimPrefix(name, "migration/")
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("store: migration %s: its name does not begin with a number: %w", name, err)
		}
		all = append(all, migration{version, name, string(script)})
	}
	slices.SortFunc(all, func(a, b migration) int { return a.version - b.version })
	return all, nil
}

// migrationsOf returns the migrations that made the tables of a backup, by their
// numbers.
func migrationsOf(all []migration, versions []int) (these []migration, err error) {
	if err := checkReleased("the backup", all[0].version, versions); err != nil {
		return nil, err
	}
	for _, m := range all {
		if slices.Contains(versions, m.version) {
			these = append(these, m)
		}
	}
	if len(these) != len(versions) {
		return nil, fmt.Errorf("the backup has schema %d and this version of kith knows %d, or lacks one before it: restore it with the version that made it",
			slices.Max(versions), all[len(all)-1].version)
	}
	return these, nil
}

// CheckBackup returns an error if this program lacks any of the migrations that made
// the tables of a backup.
func CheckBackup(versions []int) error {
	all, err := knownMigrations()
	if err == nil {
		_, err = migrationsOf(all, versions)
	}
	return err
}

// CheckReleased returns an error of the code conflict if the database was made by a
// version of kith before the first release: there are no migrations from it.
func (r Reads) CheckReleased(ctx context.Context) error {
	versions, err := r.Migrations(ctx)
	if err != nil {
		return err
	}
	all, err := knownMigrations()
	if err != nil {
		return err
	}
	return checkReleased("the database", all[0].version, versions)
}

func checkReleased(what string, first int, versions []int) error {
	if len(versions) == 0 || slices.Min(versions) >= first {
		return nil
	}
	return &core.Error{Code: core.CodeConflict, Message: fmt.Sprintf(
		"%s was made by an unreleased version of kith (schema %d), which this version cannot read: make a new database", what, slices.Max(versions))}
}

// SchemaVersion returns the number of the newest migration of this program.
func SchemaVersion() int {
	all, err := knownMigrations()
	if err != nil {
		return 0
	}
	return all[len(all)-1].version
}

// migrateBy applies those migrations that were not applied yet.
func (p *Primary) migrateBy(ctx context.Context, now core.Time, all []migration, check func(context.Context, *Tx) error) error {
	// A program that has nothing to migrate does not wait for the write lock.
	applied, err := p.Migrations(ctx)
	if err != nil {
		return fmt.Errorf("store: migrate: %w", err)
	}
	all = slices.DeleteFunc(slices.Clone(all), func(m migration) bool { return slices.Contains(applied, m.version) })
	if len(all) == 0 {
		return nil
	}
	// Several processes that start at once contend for the lock here, too.
	err = p.retry(ctx, retryable, func() error {
		_, err := p.write.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_version (
			version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT`)
		return err
	})
	if err != nil {
		return fmt.Errorf("store: migrate: %w", err)
	}
	for _, m := range all {
		err := p.migrate(ctx, now, m, check)
		if refused := (*core.Error)(nil); errors.As(err, &refused) {
			return err
		}
		if err != nil {
			return fmt.Errorf("store: migration %s: %w", m.name, err)
		}
	}
	return nil
}

func (p *Primary) migrate(ctx context.Context, now core.Time, m migration, check func(context.Context, *Tx) error) error {
	// A table that is copied and dropped must not take the rows that refer to it along.
	return p.WriteWithoutForeignKeys(ctx, now, func(tx *Tx) error {
		if err := check(ctx, tx); err != nil {
			return err
		}
		applied, err := One[bool](ctx, tx.Reads, "schema", "SELECT EXISTS (SELECT 1 FROM schema_version WHERE version = ?)", m.version)
		if err != nil || applied {
			return err
		}
		// A server accepts one statement at a time.
		for statement := range strings.SplitSeq(m.script, ";\n") {
			if strings.TrimSpace(statement) == "" {
				continue
			}
			if _, err := tx.q.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		if m.version < writerMigration {
			_, err = tx.q.ExecContext(ctx, "INSERT INTO schema_version (version, applied_at) VALUES (?, ?)", m.version, int64(now))
			return err
		}
		_, err = tx.q.ExecContext(ctx, "INSERT INTO schema_version (version, applied_at, kith) VALUES (?, ?, ?)", m.version, int64(now), p.Version)
		return err
	})
}

// Migrations returns the numbers of the migrations that were applied to the
// database, in ascending order. It is empty for a new database.
func (r Reads) Migrations(ctx context.Context) ([]int, error) {
	has, err := r.HasTable(ctx, "schema_version")
	if err != nil || !has {
		return nil, err
	}
	return List[int](ctx, r, "migrations", `SELECT version FROM schema_version ORDER BY version`)
}

// HasTable reports whether the database has a table of this name.
func (r Reads) HasTable(ctx context.Context, name string) (bool, error) {
	return One[bool](ctx, r, "schema", `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?)`, name)
}
