package store

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// selection lists the columns that a statement selects of a T. The one list makes
// both the SELECT list and the places that a row is scanned into, so a column that
// is added, moved or removed cannot put a value into the wrong field.
type selection[T any] []selected[T]

// selected is one column of a selection: its SQL, and the field of a T, or the
// sql.Scanner, that takes its value.
type selected[T any] struct {
	column string
	into   func(*T) any
}

// scanner is a row of a result.
type scanner interface{ Scan(into ...any) error }

// list returns the columns as they are written behind SELECT or RETURNING.
func (s selection[T]) list() string {
	columns := make([]string, len(s))
	for i, c := range s {
		columns[i] = c.column
	}
	return strings.Join(columns, ", ")
}

// into returns the places in t that the columns of a row are scanned into.
func (s selection[T]) into(t *T) []any {
	into := make([]any, len(s))
	for i, c := range s {
		into[i] = c.into(t)
	}
	return into
}

// scan reads one row into t.
func (s selection[T]) scan(row scanner, t *T) error { return row.Scan(s.into(t)...) }

// all reads all rows of a query.
func (s selection[T]) all(rows *sql.Rows, err error, what string) ([]T, error) {
	return collect(rows, err, what, func(rows *sql.Rows, t *T) error { return s.scan(rows, t) })
}

// one reads the only row of a query into t; ok is false when there is no row.
func (s selection[T]) one(row *sql.Row, what string, t *T) (ok bool, err error) {
	err = s.scan(row, t)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("store: %s: %w", what, err)
	}
	return true, nil
}

// with returns s followed by the columns of further selections.
func (s selection[T]) with(more ...selection[T]) selection[T] {
	return slices.Concat(append([]selection[T]{s}, more...)...)
}

// part returns the selection of a P as one of the T that the P is a field of.
func part[T, P any](s selection[P], field func(*T) *P) selection[T] {
	all := make(selection[T], len(s))
	for i, c := range s {
		all[i] = selected[T]{c.column, func(t *T) any { return c.into(field(t)) }}
	}
	return all
}
