package store

import (
	"strings"

	"kith/core"
)

// Where is a condition: terms that must all be true, and their arguments. The zero
// value is true for all rows.
type Where struct {
	// ByRow is true if the terms select rows by their rowid, so that an index on
	// the tenant must not be used.
	ByRow bool
	// Terms are SQL expressions with a ? for each argument.
	Terms []string
	// Args are the arguments of Terms, in order.
	Args []any
}

// Require adds a term and its arguments.
func (w *Where) Require(term string, args ...any) {
	w.Terms, w.Args = append(w.Terms, term), append(w.Args, args...)
}

// Span requires that a column of times is within a span; a zero bound is none.
func (w *Where) Span(column string, s core.Span) {
	if s.From != 0 {
		w.Require(column+` >= ?`, int64(s.From))
	}
	if s.Before != 0 {
		w.Require(column+` < ?`, int64(s.Before))
	}
}

// Among requires that a column has one of some values. An empty list requires
// nothing.
func Among[S ~string](w *Where, column string, values []S) {
	if len(values) == 0 {
		return
	}
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = string(v)
	}
	w.Require(column+` IN (`+Placeholders(len(values))+`)`, args...)
}

// ArgsFor returns the arguments of a statement whose first parameter is the tenant
// and whose others are those of w.
func (w Where) ArgsFor(tenant core.TenantAlias) []any {
	return append([]any{string(tenant)}, w.Args...)
}

// SQL returns the condition as one SQL expression.
func (w Where) SQL() string {
	if len(w.Terms) == 0 {
		return `1`
	}
	return `(` + strings.Join(w.Terms, ` AND `) + `)`
}
