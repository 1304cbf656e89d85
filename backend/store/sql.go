package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"kith/core"
)

// BoolInt returns b as SQLite stores it: 1 for true, 0 for false.
func BoolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// NullTime returns t as a parameter of a statement: zero is NULL.
func NullTime(t core.Time) any {
	if t == 0 {
		return nil
	}
	return int64(t)
}

// NullText returns s as a parameter of a statement: "" is NULL.
func NullText[S ~string](s S) any {
	if s == "" {
		return nil
	}
	return string(s)
}

// Collect scans all rows of a query and closes them. Its first arguments are the
// results of QueryContext; what names the query in errors.
func Collect[T any](rows *sql.Rows, err error, what string, scan func(*sql.Rows, *T) error) ([]T, error) {
	if err != nil {
		return nil, fmt.Errorf("store: %s: %w", what, err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var one T
		if err := scan(rows, &one); err != nil {
			return nil, fmt.Errorf("store: %s: %w", what, err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("store: %s: %w", what, err)
	}
	return all, nil
}

// One returns the only value of the only row of a query; what names the query in
// errors. Without a row the error is sql.ErrNoRows.
func One[T any](ctx context.Context, r Reads, what, query string, args ...any) (value T, err error) {
	if err := r.QueryRowContext(ctx, query, args...).Scan(&value); err != nil {
		return value, fmt.Errorf("store: %s: %w", what, err)
	}
	return value, nil
}

// OneOrZero is like One but returns the zero value if there is no row.
func OneOrZero[T any](ctx context.Context, r Reads, what, query string, args ...any) (T, error) {
	value, err := One[T](ctx, r, what, query, args...)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return value, err
}

// List returns the only value of each row of a query; what names the query in
// errors.
func List[T any](ctx context.Context, r Reads, what, query string, args ...any) ([]T, error) {
	rows, err := r.QueryContext(ctx, query, args...)
	return Collect(rows, err, what, func(rows *sql.Rows, value *T) error { return rows.Scan(value) })
}

// Placeholders returns "?, ?, …" for n values.
func Placeholders(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// TenantExists returns the condition that the tenant of a row of a table exists.
// Workers require it: while a tenant is being erased or restored, it has rows but
// does not exist.
func TenantExists(table string) string {
	return `EXISTS (SELECT 1 FROM tenant WHERE alias = ` + table + `.tenant)`
}

// Inserted runs an INSERT … ON CONFLICT DO NOTHING and reports whether it inserted
// a row; what names the row in errors.
func (tx *Tx) Inserted(ctx context.Context, what, statement string, args ...any) (bool, error) {
	return tx.Changed(ctx, "insert "+what, statement, args...)
}

// Exec runs a statement; what names it in errors.
func (tx *Tx) Exec(ctx context.Context, what, statement string, args ...any) error {
	if _, err := tx.q.ExecContext(ctx, statement, args...); err != nil {
		return fmt.Errorf("store: %s: %w", what, err)
	}
	return nil
}

// Later is like Count, but returns a function that returns the number: on a server, the
// statement is sent with the next one whose result is asked for.
func (tx *Tx) Later(ctx context.Context, what, statement string, args ...any) (changed func() (int, error), err error) {
	result, err := tx.q.ExecContext(ctx, statement, args...)
	if err != nil {
		return nil, fmt.Errorf("store: %s: %w", what, err)
	}
	return func() (int, error) {
		n, err := result.RowsAffected()
		return int(n), err
	}, nil
}

// Changed runs a statement and reports whether it changed any row; what names it in
// errors.
func (tx *Tx) Changed(ctx context.Context, what, statement string, args ...any) (bool, error) {
	n, err := tx.Count(ctx, what, statement, args...)
	return n > 0, err
}

// Count runs a statement and returns how many rows it changed; what names it in
// errors.
func (tx *Tx) Count(ctx context.Context, what, statement string, args ...any) (int, error) {
	changed, err := tx.Later(ctx, what, statement, args...)
	if err != nil {
		return 0, err
	}
	return changed()
}
