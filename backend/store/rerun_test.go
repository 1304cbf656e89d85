package store_test

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

// Write may run the function of a transaction several times, so that it must set what it
// leaves outside before it adds to that. No function of the backend adds to a variable of
// its surroundings that it has not set.
func TestWrite_FunctionsSetTheirResults(t *testing.T) {
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
			if f, ok := n.(*ast.FuncLit); ok && takesTx(f) {
				functions++
				for _, at := range added(f) {
					t.Errorf("%s: the function of a transaction adds to a variable that it has not set; it may run again", files.Position(at))
				}
			}
			return true
		})
		return nil
	}))
	require.Greater(t, functions, 100)
}

func TestAdded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"n++":                             1,
		"n += 2":                          1,
		"all = append(all, 1)":            1,
		"n = 0; n++":                      0,
		"all = nil; all = append(all, 1)": 0,
		"m := 0; m++":                     0,
		"task.tries++":                    1,
		"n = 1; all = append(all, n)":     1,
		"all = append(all[:0], 1)":        0,
	} {
		e, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc g() { var n int; var all []int; var task struct{ tries int }; Write(func(tx *store.Tx) { "+text+" }) }", 0)
		require.NoError(t, err, text)
		ast.Inspect(e, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncLit); ok {
				require.True(t, takesTx(f))
				require.Len(t, added(f), want, text)
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

// added returns where a function gives a variable of its surroundings a value that depends
// on the one before, though the function has not set it.
func added(f *ast.FuncLit) (at []token.Pos) {
	known := localNames(f)
	change := func(left ast.Expr, adds func(name string) bool) {
		name, whole := variable(left)
		if name == "" || known[name] {
			return
		}
		if adds(name) {
			at = append(at, left.Pos())
		}
		known[name] = whole
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch s := n.(type) {
		case *ast.IncDecStmt:
			change(s.X, func(string) bool { return true })
		case *ast.AssignStmt:
			for _, left := range s.Lhs {
				change(left, func(name string) bool {
					return s.Tok != token.ASSIGN || slices.ContainsFunc(s.Rhs, func(e ast.Expr) bool { return appendsTo(e, name) })
				})
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

// variable returns the name of the variable that an assignment changes, and whether it
// changes the whole of it.
func variable(e ast.Expr) (name string, whole bool) {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name, true
	case *ast.SelectorExpr:
		name, _ = variable(e.X)
	case *ast.IndexExpr:
		name, _ = variable(e.X)
	}
	return name, false
}

// appendsTo reports whether an expression appends to a variable.
func appendsTo(e ast.Expr, name string) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	to, _ := variable(call.Args[0])
	f, _ := variable(call.Fun)
	return f == "append" && to == name
}
