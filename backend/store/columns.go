package store

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Selection lists the columns that a statement selects of a T. The one list makes
// both the SELECT list and the places that a row is scanned into, so a column that
// is added, moved or removed cannot put a value into the wrong field.
type Selection[T any] []Column[T]

// selected is one column of a selection: its SQL, and the field of a T, or the
// sql.Scanner, that takes its value.
type Column[T any] struct {
	column string
	into   func(*T) any
}

// Col returns a column of a selection: its SQL, and what takes its value of a T.
func Col[T any](column string, into func(*T) any) Column[T] { return Column[T]{column, into} }

// Scanner is a row of a result.
type Scanner interface{ Scan(into ...any) error }

// SQL returns the columns as they are written behind SELECT or RETURNING.
func (s Selection[T]) SQL() string {
	columns := make([]string, len(s))
	for i, c := range s {
		columns[i] = c.column
	}
	return strings.Join(columns, ", ")
}

// into returns the places in t that the columns of a row are scanned into.
func (s Selection[T]) into(t *T) []any {
	into := make([]any, len(s))
	for i, c := range s {
		into[i] = c.into(t)
	}
	return into
}

// Scan reads one row into t.
func (s Selection[T]) Scan(row Scanner, t *T) error { return row.Scan(s.into(t)...) }

// All reads all rows of a query.
func (s Selection[T]) All(rows *sql.Rows, err error, what string) ([]T, error) {
	return Collect(rows, err, what, func(rows *sql.Rows, t *T) error { return s.Scan(rows, t) })
}

// One reads the only row of a query into t; ok is false when there is no row.
func (s Selection[T]) One(row *sql.Row, what string, t *T) (ok bool, err error) {
	err = s.Scan(row, t)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("store: %s: %w", what, err)
	}
	return true, nil
}

// With returns s followed by the columns of further selections.
func (s Selection[T]) With(more ...Selection[T]) Selection[T] {
	return slices.Concat(append([]Selection[T]{s}, more...)...)
}

// Nested returns the selection of a P as one of the T that the P is a field of.
func Nested[T, P any](s Selection[P], field func(*T) *P) Selection[T] {
	all := make(Selection[T], len(s))
	for i, c := range s {
		all[i] = Col(c.column, func(t *T) any { return c.into(field(t)) })
	}
	return all
}
