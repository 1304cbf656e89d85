package store

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kith/core"
)

//go:embed migration/*.sql
var migrations embed.FS

// Migrate brings the schema up to date. Migrations are numbered and run
// forward only, each in one transaction with the note that it ran; several
// processes may migrate at once. A database that is being restored is refused.
func (p *Primary) Migrate(ctx context.Context, now core.Time) error {
	if err := p.Restoring(ctx); err != nil {
		return err
	}
	files, err := migrationFiles(nil)
	if err != nil {
		return err
	}
	return p.migrateBy(ctx, now, files)
}

// migrationFiles are the names of the migrations of these numbers, or of all
// when versions is nil, in their order.
func migrationFiles(versions []int) (names []string, err error) {
	files, err := migrations.ReadDir("migration")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		version, err := migrationNumber(file.Name())
		if err != nil {
			return nil, err
		}
		if versions == nil || slices.Contains(versions, version) {
			names = append(names, file.Name())
		}
	}
	slices.Sort(names)
	if versions != nil && len(names) != len(versions) {
		return nil, fmt.Errorf("its schema is %d and this kith knows %d, or not all before it: it was made by a newer kith", slices.Max(versions), SchemaVersion())
	}
	return names, nil
}

func migrationNumber(name string) (int, error) {
	number, _, _ := strings.Cut(name, "_")
	return strconv.Atoi(number)
}

func (p *Primary) migrateBy(ctx context.Context, now core.Time, files []string) error {
	// Several processes that start at once wait for each other here, too.
	err := p.untilKept(ctx, func() error {
		_, err := p.write.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_version (
			version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT`)
		return err
	})
	if err != nil {
		return fmt.Errorf("store: migrate: %w", err)
	}
	for _, name := range files {
		if err := p.migrate(ctx, now, name); err != nil {
			return fmt.Errorf("store: migration %s: %w", name, err)
		}
	}
	return nil
}

// SchemaVersion is the number of the newest migration that this program knows.
func SchemaVersion() int {
	newest := 0
	files, _ := migrations.ReadDir("migration")
	for _, file := range files {
		if version, err := migrationNumber(file.Name()); err == nil {
			newest = max(newest, version)
		}
	}
	return newest
}

func (p *Primary) migrate(ctx context.Context, now core.Time, name string) error {
	version, err := migrationNumber(name)
	if err != nil {
		return err
	}
	script, err := migrations.ReadFile("migration/" + name)
	if err != nil {
		return err
	}
	return p.Write(ctx, now, func(tx *Tx) error {
		var applied bool
		err := tx.q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM schema_version WHERE version = ?)", version).Scan(&applied)
		if err != nil || applied {
			return err
		}
		// A server takes one statement at a time.
		for statement := range strings.SplitSeq(string(script), ";\n") {
			if strings.TrimSpace(statement) == "" {
				continue
			}
			if _, err := tx.q.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		_, err = tx.q.ExecContext(ctx, "INSERT INTO schema_version (version, applied_at) VALUES (?, ?)", version, int64(now))
		return err
	})
}
