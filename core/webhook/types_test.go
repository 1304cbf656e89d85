//go:build !tinygo

package webhook

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Types lists each constant of Type but Test.
func TestTypes_ListEachConstant(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "webhook.go", nil, 0)
	require.NoError(t, err)
	var constants []Type
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Type" && spec.Names[0].Name != "Test" {
				text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				require.NoError(t, err)
				constants = append(constants, Type(text))
			}
		}
		return true
	})
	require.NotEmpty(t, constants)
	require.ElementsMatch(t, constants, Types())
}
