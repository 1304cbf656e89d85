package store

import (
	"context"
	"embed"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"kith/core"
)

//go:embed migration/*.sql
var migrations embed.FS

// Migrate brings the schema up to date. Migrations are numbered and run
// forward only, each in one transaction with the note that it ran; several
// processes may migrate at once.
func (p *Primary) Migrate(ctx context.Context, now core.Time) error {
	files, err := migrations.ReadDir("migration")
	if err != nil {
		return err
	}
	sort.Slice(files, func(i, j int) bool { return files[i].Name() < files[j].Name() })
	if _, err := p.write.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_version (
		version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT`); err != nil {
		return fmt.Errorf("store: migrate: %w", err)
	}
	for _, file := range files {
		if err := p.migrate(ctx, now, file.Name()); err != nil {
			return fmt.Errorf("store: migration %s: %w", file.Name(), err)
		}
	}
	return nil
}

// SchemaVersion is the number of the newest migration that this program knows.
func SchemaVersion() int {
	newest := 0
	files, _ := migrations.ReadDir("migration")
	for _, file := range files {
		number, _, _ := strings.Cut(file.Name(), "_")
		if version, err := strconv.Atoi(number); err == nil {
			newest = max(newest, version)
		}
	}
	return newest
}

func (p *Primary) migrate(ctx context.Context, now core.Time, name string) error {
	number, _, _ := strings.Cut(name, "_")
	version, err := strconv.Atoi(number)
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
