//go:build !tinygo

package core_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	// maxFiles is the most files of a package, without tests.
	maxFiles = 30
	// maxMethods is the most exported methods of a type, including those of embedded
	// types of its package.
	maxMethods = 25
)

// A package or type above the limits is to be divided by subject.
func TestSource_PackagesAndTypesStaySmall(t *testing.T) {
	above, checked := map[string]string{}, 0
	for _, p := range list(t, nil, "kith/...") {
		// The client of Go is generated: it has a method for each operation of the API.
		if !strings.HasPrefix(p.ImportPath+"/", "kith/") || p.DepOnly || p.ImportPath == "kith/clients/go" {
			continue
		}
		checked++
		files, types := sizesOf(t, p.Dir)
		if files > maxFiles {
			above[p.ImportPath] = fmt.Sprintf("%d files, more than %d", files, maxFiles)
		}
		for name := range types {
			if n := len(types.methods(name)); n > maxMethods {
				above[p.ImportPath+"."+name] = fmt.Sprintf("%d exported methods, more than %d", n, maxMethods)
			}
		}
	}
	require.NotZero(t, checked)
	for name, size := range above {
		t.Errorf("%s has %s: divide it by subject", name, size)
	}
}

// declared maps the names of a package's types to their members.
type declared map[string]*members

// members lists the exported methods of a type, and the types that it embeds.
type members struct{ methods, embeds []string }

// methods returns the exported methods of a type and of those it embeds, each once.
func (d declared) methods(name string) (all []string) {
	if d[name] == nil {
		return nil
	}
	all = slices.Clone(d[name].methods)
	for _, embedded := range d[name].embeds {
		all = append(all, d.methods(embedded)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// sizesOf counts the files of the package in a folder, of all build tags, and returns
// its types.
func sizesOf(t *testing.T, dir string) (files int, types declared) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	types = declared{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			types.add(n)
			return true
		})
	}
	return files, types
}

// add records a method, or the types that a struct embeds.
func (d declared) add(n ast.Node) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if n.Recv != nil && n.Name.IsExported() {
			of := d.of(typeName(n.Recv.List[0].Type))
			of.methods = append(of.methods, n.Name.Name)
		}
	case *ast.TypeSpec:
		of := d.of(n.Name.Name)
		if s, ok := n.Type.(*ast.StructType); ok {
			for _, field := range s.Fields.List {
				if len(field.Names) == 0 {
					of.embeds = append(of.embeds, typeName(field.Type))
				}
			}
		}
	}
}

func (d declared) of(name string) *members {
	if d[name] == nil {
		d[name] = &members{}
	}
	return d[name]
}

// typeName returns the name of a type in a receiver or an embedded field; "" for a
// type of another package.
func typeName(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.Ident:
		return of.Name
	case *ast.StarExpr:
		return typeName(of.X)
	case *ast.IndexExpr:
		return typeName(of.X)
	case *ast.IndexListExpr:
		return typeName(of.X)
	}
	return ""
}
