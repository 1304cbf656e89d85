package sqltest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TenantColumns returns the column with the tenant for each table that has one.
func TenantColumns(t testing.TB) map[string]string {
	t.Helper()
	rows, err := File(t).QueryContext(t.Context(), `SELECT m.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'tenant'`)
	require.NoError(t, err)
	defer rows.Close()
	columns := map[string]string{"tenant": "alias"}
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		columns[name] = "tenant"
	}
	require.NoError(t, rows.Err())
	require.Greater(t, len(columns), 30)
	return columns
}

// Unknown stands for a fragment of a statement that is built at run time.
const Unknown = "UNKNOWN"

var (
	sqlToken = regexp.MustCompile(`'(?:[^']|'')*'|"[^"]*"|[A-Za-z_][A-Za-z0-9_]*|\?[0-9]*|[0-9]+|[^\sA-Za-z0-9_]`)
	// Verb matches the beginning of a statement.
	Verb = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|WITH|REPLACE)\s`)
	// Table matches a clause that reads or writes a table, in a text that may be a
	// fragment of a statement.
	Table   = regexp.MustCompile(`\b(FROM|JOIN|INTO|UPDATE)\s+([a-z_]+|$)`)
	sqlName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)
)

// source is one table of a SELECT, an UPDATE or a DELETE.
type source struct {
	table, alias string
	// named is true if its tenant is a parameter. same has the tables whose tenant must
	// be equal to its own.
	named bool
	same  []*source
}

// scope is one SELECT, UPDATE or DELETE; outer is the scope around it, or nil.
type scope struct {
	sources []*source
	outer   *scope
}

// find returns the source that a column belongs to, or nil.
func (s *scope) find(qualifier, column string, tenantColumn map[string]string) *source {
	for ; s != nil; s = s.outer {
		for _, from := range s.sources {
			if (qualifier == "" || qualifier == from.alias) && tenantColumn[from.table] == column {
				return from
			}
		}
	}
	return nil
}

// MissingTenants reports which tables of a statement have no condition on their tenant,
// as a text; it is empty if all have one. tenantColumn is the result of TenantColumns.
func MissingTenants(text string, tenantColumn map[string]string) string {
	tokens := sqlToken.FindAllString(text, -1)
	at := func(i int) string {
		if i < 0 || i >= len(tokens) {
			return ""
		}
		return tokens[i]
	}
	var all []*source
	var missing []string
	scopes := make([]*scope, len(tokens))
	// First find the tables, because a column may precede its table.
	stack := []*scope{{}}
	list := false
	setting := make([]bool, len(tokens))
	set := false
	for i, word := range tokens {
		top := len(stack) - 1
		switch word {
		case "(":
			inner := stack[top]
			if next := at(i + 1); next == "SELECT" || next == "WITH" {
				inner = &scope{outer: stack[top]}
			}
			stack = append(stack, inner)
		case ")":
			if top == 0 {
				return "a closing bracket without an opening one"
			}
			stack = stack[:top]
		case "SELECT":
			if at(i-1) != "(" {
				// The next SELECT of a UNION, or the SELECT of an INSERT.
				stack[top] = &scope{outer: stack[top].outer}
			}
		case "SET":
			set = true
		case "WHERE", "FROM":
			set = false
		}
		setting[i] = set
		top = len(stack) - 1
		scopes[i] = stack[top]
		table := ""
		switch word {
		case "FROM", "JOIN", "INTO":
			table = at(i + 1)
		case "UPDATE":
			if at(i+1) == "OR" {
				table = at(i + 3)
			} else if at(i-1) != "DO" {
				table = at(i + 1)
			}
		case ",":
			if list && scopes[i] == scopes[max(i-1, 0)] && len(scopes[i].sources) > 0 {
				table = at(i + 1)
			}
		}
		switch word {
		case "FROM", "JOIN":
			list = true
		case "WHERE", "SELECT", "ORDER", "GROUP", "SET", "(", ")", "ON":
			list = false
		}
		table = strings.Trim(table, `"`)
		if table == "" || table == "(" || word == "," && tenantColumn[table] == "" {
			continue
		}
		if table == Unknown {
			return "a table that the text does not name"
		}
		if tenantColumn[table] == "" {
			continue
		}
		if word == "INTO" {
			end := i + 2
			for end < len(tokens) && tokens[end] != ")" {
				end++
			}
			if !slices.Contains(tokens[i+2:end], tenantColumn[table]) {
				missing = append(missing, table)
			}
			continue
		}
		alias := at(i + 2)
		if alias == "AS" {
			alias = at(i + 3)
		}
		if word == "UPDATE" || !sqlName.MatchString(alias) {
			alias = table
		}
		from := &source{table: table, alias: alias}
		stack[top].sources = append(stack[top].sources, from)
		all = append(all, from)
	}
	// Then find the conditions on their tenants.
	for i, word := range tokens {
		if word != "tenant" && word != "alias" || setting[i] && scopes[i].outer == nil {
			continue
		}
		qualifier, before := "", i-1
		if at(i-1) == "." {
			qualifier, before = at(i-2), i-3
		}
		of := scopes[i].find(qualifier, word, tenantColumn)
		if of == nil {
			continue
		}
		if at(i+1) == "IN" && strings.HasPrefix(at(i+3), "?") {
			of.named = true
		}
		other, otherQualifier := "", ""
		switch {
		case at(i+1) == "=" && at(i+3) == ".":
			otherQualifier, other = at(i+2), at(i+4)
		case at(i+1) == "=":
			other = at(i + 2)
		case at(before) == "=" && strings.HasPrefix(at(before-1), "?"):
			other = at(before - 1)
		}
		if strings.HasPrefix(other, "?") {
			of.named = true
		} else if same := scopes[i].find(otherQualifier, other, tenantColumn); same != nil && same != of {
			of.same, same.same = append(of.same, same), append(same.same, of)
		}
	}
	for changed := true; changed; {
		changed = false
		for _, from := range all {
			for _, same := range from.same {
				if from.named && !same.named {
					same.named, changed = true, true
				}
			}
		}
	}
	for _, from := range all {
		if !from.named {
			missing = append(missing, from.alias)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	slices.Sort(missing)
	return "no condition on the tenant of " + strings.Join(slices.Compact(missing), ", ")
}
