package store

import (
	"database/sql"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each column is scanned into its own field, whatever the order of the columns and
// whichever embedded struct has the field.
func TestSelection(t *testing.T) {
	t.Parallel()
	type inner struct{ name string }
	type outer struct {
		id int
		inner
	}
	names := Selection[inner]{Col(`'n' || id`, func(i *inner) any { return &i.name })}
	ids := Selection[outer]{Col(`id`, func(o *outer) any { return &o.id })}
	parts := Nested(names, func(o *outer) *inner { return &o.inner })
	p, err := Open("file:"+filepath.Join(t.TempDir(), "kith.db"), "")
	require.NoError(t, err)
	defer p.Close()
	for _, s := range []Selection[outer]{ids.With(parts), parts.With(ids)} {
		query := `SELECT ` + s.SQL() + ` FROM (SELECT 1 AS id UNION SELECT 2) WHERE id < ?`
		rows, err := p.read.QueryContext(t.Context(), query+` ORDER BY id`, 3)
		all, err := s.All(rows, err, "test")
		require.NoError(t, err)
		require.Equal(t, []outer{{1, inner{"n1"}}, {2, inner{"n2"}}}, all)

		var one outer
		ok, err := s.One(p.read.QueryRowContext(t.Context(), query, 2), "test", &one)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, outer{1, inner{"n1"}}, one)
		ok, err = s.One(p.read.QueryRowContext(t.Context(), query, 1), "test", &one)
		require.NoError(t, err)
		require.False(t, ok)
	}
	require.Len(t, ids, 1, "With does not change its receiver")

	_, err = ids.All(nil, sql.ErrConnDone, "test")
	require.ErrorIs(t, err, sql.ErrConnDone)
	var one outer
	_, err = ids.One(p.read.QueryRowContext(t.Context(), `SELECT 1, 2`), "test", &one)
	require.ErrorContains(t, err, "store: test: ")
}

// A struct is scanned with a selection. Only local variables are scanned one by one.
func TestSelection_FillsEveryStruct(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	below, err := filepath.Glob("*db/*.go")
	require.NoError(t, err)
	unit, err := filepath.Glob("unit/*.go")
	require.NoError(t, err)
	names = slices.Concat(names, below, unit)
	scans := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isScan(call) {
				scans++
				require.Less(t, fieldsOf(call.Args), 2, "%s scans fields by their order; use a Selection", files.Position(call.Pos()))
			}
			return true
		})
	}
	require.Greater(t, scans, 20)
}

func isScan(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	return ok && method.Sel.Name == "Scan"
}

// fieldsOf counts the arguments that are pointers to fields.
func fieldsOf(args []ast.Expr) (n int) {
	for _, arg := range args {
		if place, ok := arg.(*ast.UnaryExpr); ok && place.Op == token.AND {
			if _, ok := place.X.(*ast.SelectorExpr); ok {
				n++
			}
		}
	}
	return n
}
