package store

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Selection lists the columns that a statement selects for a T. The same list gives
// the SELECT list and the fields that a row is scanned into, so that adding, moving
// or removing a column cannot put a value into the wrong field.
type Selection[T any] []Column[T]

// Column is one column of a selection. Col returns one.
type Column[T any] struct {
	column string
	into   func(*T) any
}

// Col returns a column of a selection: its SQL expression, and a function that
// returns where to scan its value: a pointer to a field of the T, or a sql.Scanner.
func Col[T any](column string, into func(*T) any) Column[T] { return Column[T]{column, into} }

// Scanner is a row of a result: a *sql.Row or *sql.Rows.
type Scanner interface{ Scan(into ...any) error }

// SQL returns the columns as they are written after SELECT or RETURNING.
func (s Selection[T]) SQL() string {
	columns := make([]string, len(s))
	for i, c := range s {
		columns[i] = c.column
	}
	return strings.Join(columns, ", ")
}

// into returns the pointers into t that the columns of a row are scanned into.
func (s Selection[T]) into(t *T) []any {
	into := make([]any, len(s))
	for i, c := range s {
		into[i] = c.into(t)
	}
	return into
}

// Scan reads one row into t.
func (s Selection[T]) Scan(row Scanner, t *T) error { return row.Scan(s.into(t)...) }

// All returns all rows of a query and closes them. Its first arguments are the
// results of QueryContext; what names the query in errors.
func (s Selection[T]) All(rows *sql.Rows, err error, what string) ([]T, error) {
	return Collect(rows, err, what, func(rows *sql.Rows, t *T) error { return s.Scan(rows, t) })
}

// One scans the only row of a query into t; ok is false if there is no row. what
// names the query in errors.
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
	all := append(Selection[T]{}, s...)
	for _, one := range more {
		all = append(all, one...)
	}
	return all
}

// Nested turns a selection for a P into one for a T that has the P as a field.
func Nested[T, P any](s Selection[P], field func(*T) *P) Selection[T] {
	all := make(Selection[T], len(s))
	for i, c := range s {
		all[i] = Col(c.column, func(t *T) any { return c.into(field(t)) })
	}
	return all
}

// The functions below are no methods of Selection, because the binary would have each method
// for each of its types.

// Of returns columns, which are names, with the alias of their table in front.
func Of[T any](table string, s Selection[T]) Selection[T] {
	all := make(Selection[T], len(s))
	for i, c := range s {
		all[i] = Col(table+`.`+c.column, c.into)
	}
	return all
}

// OrZero returns columns with ” or 0 in place of NULL, for the rows that a LEFT JOIN lacks.
func OrZero[T any](s Selection[T]) Selection[T] {
	all := make(Selection[T], len(s))
	for i, c := range s {
		zero := `0`
		if reflect.TypeOf(c.into(new(T))).Elem().Kind() == reflect.String {
			zero = `''`
		}
		all[i] = Col(`coalesce(`+c.column+`, `+zero+`)`, c.into)
	}
	return all
}

// Set returns columns, which are names, as an UPDATE sets them to parameters.
func Set[T any](s Selection[T]) string {
	columns := make([]string, len(s))
	for i, c := range s {
		columns[i] = c.column + ` = ?`
	}
	return strings.Join(columns, `, `)
}

// Values returns the values of the columns of t, as arguments of a statement that writes them.
func Values[T any](s Selection[T], t *T) ([]any, error) {
	values := make([]any, len(s))
	for i, c := range s {
		value, err := driver.DefaultParameterConverter.ConvertValue(c.into(t))
		if err != nil {
			return nil, fmt.Errorf("store: column %s: %w", c.column, err)
		}
		values[i] = value
	}
	return values, nil
}
