package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kith/core"
)

// Schema compares the migrations that were applied to a database with those of this
// program.
type Schema struct {
	// Has is the number of the newest migration of the database, Knows that of this
	// program.
	Has, Knows int
	// Missing are the migrations of this program that the database does not have, Unknown
	// those of the database that this program does not have.
	Missing, Unknown []int
	// Version is the version of kith that applied the newest unknown migration; "" if it
	// is not stored.
	Version string
}

// writerMigration is the migration that added the column kith to schema_version.
const writerMigration = 370

// Schema compares the schema of the database with that of this program.
func (r Reads) Schema(ctx context.Context) (s Schema, err error) {
	has, err := r.Migrations(ctx)
	if err != nil {
		return s, err
	}
	all, err := knownMigrations()
	if err != nil {
		return s, err
	}
	var knows []int
	for _, m := range all {
		knows = append(knows, m.version)
	}
	s = compareSchemas(has, knows)
	if len(s.Unknown) == 0 || !slices.Contains(has, writerMigration) {
		return s, nil
	}
	s.Version, err = One[string](ctx, r, "schema", `SELECT kith FROM schema_version WHERE version = ?`, slices.Max(s.Unknown))
	return s, err
}

func compareSchemas(has, knows []int) Schema {
	s := Schema{Knows: slices.Max(knows)}
	if len(has) > 0 {
		s.Has = slices.Max(has)
	}
	for _, v := range knows {
		if !slices.Contains(has, v) {
			s.Missing = append(s.Missing, v)
		}
	}
	for _, v := range has {
		if !slices.Contains(knows, v) {
			s.Unknown = append(s.Unknown, v)
		}
	}
	return s
}

// Newer returns an error of the code conflict if a newer version of kith changed the
// schema. It names the version that can open the database.
func (s Schema) Newer() error {
	if len(s.Unknown) == 0 {
		return nil
	}
	by, use := "", "the version of kith that made it, or a newer one"
	if s.Version != "" {
		by, use = ", made by kith "+s.Version, "kith "+s.Version+" or a newer version"
	}
	return &core.Error{Code: core.CodeConflict, Message: fmt.Sprintf("the database has schema %d%s, and this kith knows schema %d: use %s", slices.Max(s.Unknown), by, s.Knows, use)}
}

// ErrOlderSchema is the cause of the errors of [Schema.Older].
var ErrOlderSchema = errors.New("the schema is older than this program")

// Older returns an error of the code conflict if the database lacks a migration of this
// program. Its cause is [ErrOlderSchema].
func (s Schema) Older() error {
	if len(s.Missing) == 0 {
		return nil
	}
	lacks := ""
	if s.Has >= s.Knows {
		lacks = fmt.Sprintf(" without the migrations %s", strings.Trim(fmt.Sprint(s.Missing), "[]"))
	}
	return &core.Error{Code: core.CodeConflict, Err: ErrOlderSchema, Message: fmt.Sprintf("the database has schema %d%s, and this kith needs %d: start a backend of this version first", s.Has, lacks, s.Knows)}
}
