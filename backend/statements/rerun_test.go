package statements

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Write may run the function of a transaction several times, so what such a function leaves
// in a variable of its surroundings may be of several runs. No function of the backend sets
// one: what it finds is its value, which WriteValue returns.
func TestWrite_FunctionsReturnTheirResults(t *testing.T) {
	t.Parallel()
	functions := 0
	require.NoError(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncDecl); ok && f.Name.Name == "WriteValue" {
				return false
			}
			if f, ok := n.(*ast.FuncLit); ok && takesTx(f) {
				functions++
				for _, at := range setOutside(f) {
					t.Errorf("%s: the function of a transaction sets a variable of its surroundings, and may run again; return the value by store.WriteValue", files.Position(at))
				}
			}
			return true
		})
		return nil
	}))
	require.Greater(t, functions, 100)
}

func TestSetOutside(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"n++":                        1,
		"n = 0; n++":                 2,
		"all = append(all, 1)":       1,
		"task.tries = 1":             1,
		"counts[1] = 1":              1,
		"m := 0; m++":                0,
		"var m []int; m[0] = 1":      0,
		"for i := range all { i++ }": 0,
	} {
		e, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc g() { Write(func(tx *store.Tx) { "+text+" }) }", 0)
		require.NoError(t, err, text)
		ast.Inspect(e, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncLit); ok {
				require.True(t, takesTx(f))
				require.Len(t, setOutside(f), want, text)
			}
			return true
		})
	}
}

// takesTx reports whether a function takes a *Tx.
func takesTx(f *ast.FuncLit) bool {
	return slices.ContainsFunc(f.Type.Params.List, func(p *ast.Field) bool {
		star, ok := p.Type.(*ast.StarExpr)
		if !ok {
			return false
		}
		name, ok := star.X.(*ast.Ident)
		if selector, qualified := star.X.(*ast.SelectorExpr); qualified {
			name, ok = selector.Sel, true
		}
		return ok && name.Name == "Tx"
	})
}

// setOutside returns where a function sets a variable of its surroundings, or a part of one.
func setOutside(f *ast.FuncLit) (at []token.Pos) {
	local := localNames(f)
	set := func(left ast.Expr) {
		if name := variable(left); name != "" && !local[name] {
			at = append(at, left.Pos())
		}
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch s := n.(type) {
		case *ast.IncDecStmt:
			set(s.X)
		case *ast.AssignStmt:
			for _, left := range s.Lhs {
				set(left)
			}
		}
		return true
	})
	return at
}

// localNames returns the names of the parameters and variables of a function.
func localNames(f *ast.FuncLit) map[string]bool {
	names := map[string]bool{"_": true}
	ast.Inspect(f, func(n ast.Node) bool {
		var all []ast.Expr
		switch s := n.(type) {
		case *ast.Field:
			for _, name := range s.Names {
				names[name.Name] = true
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				names[name.Name] = true
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				all = s.Lhs
			}
		case *ast.RangeStmt:
			all = []ast.Expr{s.Key, s.Value}
		}
		for _, e := range all {
			if name, ok := e.(*ast.Ident); ok {
				names[name.Name] = true
			}
		}
		return true
	})
	return names
}

// variable returns the name of the variable that an assignment changes, or a part of it.
func variable(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return variable(e.X)
	case *ast.IndexExpr:
		return variable(e.X)
	}
	return ""
}
