package store

import (
	"strings"

	"kith/core"
)

// Where is a condition under construction: terms that must all hold.
type Where struct {
	// byRow is true when the terms name rows by number: the tenant is no way to them.
	ByRow bool
	Terms []string
	Args  []any
}

func (w *Where) Require(term string, args ...any) {
	w.Terms, w.Args = append(w.Terms, term), append(w.Args, args...)
}

// Span narrows a column of times.
func (w *Where) Span(column string, s core.Span) {
	if s.From != 0 {
		w.Require(column+` >= ?`, int64(s.From))
	}
	if s.Before != 0 {
		w.Require(column+` < ?`, int64(s.Before))
	}
}

// Among narrows a column to one of some texts, when there are any.
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

// ArgsFor are the arguments of a statement whose first condition is on its tenant.
func (w Where) ArgsFor(tenant core.TenantAlias) []any {
	return append([]any{string(tenant)}, w.Args...)
}

// SQL is the condition as one term.
func (w Where) SQL() string {
	if len(w.Terms) == 0 {
		return `1`
	}
	return `(` + strings.Join(w.Terms, ` AND `) + `)`
}
