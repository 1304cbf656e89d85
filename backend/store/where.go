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

func (w *Where) Add(term string, args ...any) {
	w.Terms, w.Args = append(w.Terms, term), append(w.Args, args...)
}

// Span narrows a column of times.
func (w *Where) Span(column string, s core.Span) {
	if s.From != 0 {
		w.Add(column+` >= ?`, int64(s.From))
	}
	if s.Before != 0 {
		w.Add(column+` < ?`, int64(s.Before))
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
	w.Add(column+` IN (`+Placeholders(len(values))+`)`, args...)
}

// Of are the arguments of a statement whose first condition is on its tenant.
func (w Where) Of(tenant core.TenantAlias) []any { return append([]any{string(tenant)}, w.Args...) }

// All is the condition as one term.
func (w Where) All() string {
	if len(w.Terms) == 0 {
		return `1`
	}
	return `(` + strings.Join(w.Terms, ` AND `) + `)`
}
