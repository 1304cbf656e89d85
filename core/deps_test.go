//go:build !tinygo

package core_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wall says what the packages of one layer may not import, or all that they may. A path that
// ends in /... matches the path and all paths below it.
type wall struct {
	// of are the packages that it is about, without those of but.
	of, but []string
	why     string

	// imports are packages of any origin that they may not import directly, and links
	// packages that they may not link, through any number of imports. may lists exceptions,
	// and each package may import itself.
	imports, links, may []string
	// only lists all that they may link outside of the standard library, and std what they
	// may import directly of it; nil allows all.
	only, std []string
	// tests lists what their tests may not import directly.
	tests []string
}

var (
	pure = []string{
		"bytes", "cmp", "embed", "errors", "io", "math/bits", "slices", "strconv", "strings", "time", "unicode/utf8", "net/netip", "net/url", "hash",
		"crypto/aes", "crypto/cipher", "crypto/hmac", "crypto/md5", "crypto/sha1", "crypto/sha256", "crypto/subtle",
		"encoding/base32", "encoding/base64", "encoding/binary", "encoding/csv", "encoding/hex",
	}
	// notInGuest are packages that link fmt, reflect or goroutines into the component.
	notInGuest = []string{"net/http", "net", "fmt", "log", "encoding/json", "reflect", "sync", "context", "database/sql"}
	parsers    = []string{"github.com/tidwall/gjson", "github.com/tidwall/match", "github.com/tidwall/pretty", "github.com/valyala/fastjson/..."}
	driver     = []string{"github.com/tursodatabase/libsql-client-go/...", "modernc.org/..."}
	assertions = []string{"github.com/stretchr/testify/..."}

	// deciding are the packages of core above the rules of single subjects.
	deciding = []string{"kith/core/wire", "kith/core/state", "kith/core/timeline", "kith/core/rules"}
	// requests are the packages that translate them into calls of app.
	requests = []string{"kith/backend/api/...", "kith/backend/graphql/...", "kith/backend/portal/..."}
	effects  = []string{"kith/backend/worker/...", "kith/backend/sender/...", "kith/backend/gateway/...", "kith/backend/cmd/..."}
	// service is what knows tenants, users and programs.
	service = slices.Concat([]string{"kith/backend/store/...", "kith/backend/app/..."}, requests, effects)
)

var walls = []wall{
	{of: []string{"kith/core/..."}, only: append([]string{"kith/core/..."}, parsers...), std: pure,
		why: "rules are pure functions, compiled into guest and backend"},
	{of: []string{"kith/core"}, only: []string{"kith/core"}, why: "all other packages import it"},
	{of: []string{"kith/core/..."}, but: deciding, links: slices.Concat(deciding, parsers),
		why: "a rule of one subject knows neither JSON nor what calls read and change"},
	{of: []string{"kith/core/..."}, but: []string{"kith/core/wire"}, imports: parsers,
		why: "JSON is parsed and written in core/wire only, by the two parsers that are small enough for the guest"},

	{of: []string{"kith/edge/..."}, imports: notInGuest, only: slices.Concat([]string{"kith/core/...", "kith/edge/...", "github.com/fermyon/spin/sdk/go/v2/variables"}, parsers),
		why: "the guest stays small"},
	{of: []string{"kith/edge/..."}, but: []string{"kith/edge"}, links: []string{"github.com/fermyon/..."}, why: "handlers do not know the SDK"},
	{of: []string{"kith/edge/abi"}, only: []string{"kith/edge/abi"}, std: []string{"unsafe", "runtime"},
		why: "it is the contract with the host, which imports it, and the only unsafe code"},
	{of: []string{"kith/edge/route"}, links: slices.Concat(deciding, parsers), why: "it parses paths; the handlers decide what to do with them"},

	{of: []string{"kith/backend/..."}, but: []string{"kith/backend/libsql", "kith/backend/cmd/kith"}, imports: driver, why: "backend/libsql opens databases"},
	{of: []string{"kith/backend/libsql"}, links: append([]string{"kith/core/..."}, service...),
		why: "it connects to databases and knows no statement of the service"},
	{of: []string{"kith/backend/store/..."}, but: []string{"kith/backend/store/sqldtest"}, imports: []string{"net/http"},
		links: slices.Concat([]string{"kith/backend/app/..."}, requests, effects), why: "it runs transactions and has the SQL, and does not know what calls it"},
	{of: []string{"kith/backend/app/..."}, imports: []string{"net/http", "database/sql"}, links: slices.Concat(requests, effects),
		why: "effects on other systems are rows that the worker processes, and SQL belongs to the store"},
	{of: []string{"kith/backend/app/base", "kith/backend/app/visits", "kith/backend/app/ready"}, links: []string{"kith/backend/app/..."},
		why: "use cases share it, so it knows none of them"},
	{of: requests, but: []string{"kith/backend/portal/portaltest"}, imports: []string{"kith/backend/store", "database/sql"}, links: []string{"kith/backend/worker/...", "kith/backend/sender/...", "kith/backend/cmd/..."},
		why: "it translates between its format and calls of app"},
	{of: []string{"kith/backend/graphql"}, imports: []string{"net/http"}, why: "HTTP belongs to api"},
	{of: []string{"kith/backend/portal/..."}, but: []string{"kith/backend/portal", "kith/backend/portal/portaltest"}, links: []string{"kith/backend/portal/..."}, may: []string{"kith/backend/portal/frame"},
		why: "sections of the portal do not know each other"},
	{of: []string{"kith/backend/worker", "kith/backend/backup"}, imports: []string{"net/http"}, links: requests,
		why: "it processes stored work or data; it is not called over HTTP"},
	{of: []string{"kith/backend/sender", "kith/backend/sftp"}, imports: []string{"kith/backend/store", "database/sql"}, links: requests, why: "SQL belongs to the store"},
	{of: []string{"kith/backend/gateway/..."}, only: slices.Concat([]string{"kith/core/...", "kith/backend/gateway/..."}, parsers),
		why: "it speaks the payment gateway's protocol, and knows no rule about programs"},
	{of: []string{"kith/backend/labkit/...", "kith/backend/braintreelab/...", "kith/backend/stripelab"}, imports: []string{"database/sql"}, links: service, may: []string{"kith/backend/gateway/..."},
		why: "it simulates a gateway, and knows nothing of the service"},
	{of: []string{"kith/backend/demo/shop"}, links: []string{"kith/core/...", "kith/backend/..."}, may: []string{"kith/backend/gateway/xmltree"},
		why: "it is a shop as any other, which knows of Kith what the public client has"},
	{of: []string{"kith/backend/client"}, only: slices.Concat([]string{"kith/core/...", "kith/backend/client"}, parsers),
		why: "it knows the API and nothing of the server behind it"},
	{of: []string{"kith/backend/file/...", "kith/backend/sheet", "kith/backend/xlsx", "kith/backend/identity", "kith/backend/upstream", "kith/backend/downstream", "kith/backend/metrics", "kith/backend/trace/...", "kith/backend/atomicfile",
		"kith/backend/drain", "kith/backend/smallhttp", "kith/backend/manual", "kith/backend/progress", "kith/backend/guess", "kith/backend/fault", "kith/backend/sparse", "kith/backend/testenv/..."}, imports: []string{"database/sql"}, links: append([]string{"kith/core/rules"}, service...),
		why: "it knows no rule and no row of the service"},

	{of: []string{"kith/wasm/..."}, links: []string{"kith/core/...", "kith/backend/..."},
		why: "it hosts, measures or tests programs of any purpose, and imports neither rules nor backend"},
	{of: []string{"kith/clients/go", "kith/clients/pack"}, only: []string{"kith/clients/go", "kith/clients/pack"}, why: "a shop has it without Kith"},

	{of: []string{"kith/..."}, links: []string{"github.com/stripe/stripe-go/..."}, why: "only tests may: it is 8 MB of the program"},
	{of: []string{"kith/..."}, but: []string{"kith/backend/trace/...", "kith/backend/cmd/kith"}, links: []string{"go.opentelemetry.io/..."},
		why: "backend/trace wraps handlers, transports and databases instead"},

	{of: []string{"kith/core/..."}, tests: []string{"kith/backend/...", "kith/wasm/...", "kith/edge/..."}, why: "rules are tested without what calls them"},
	{of: []string{"kith/backend/..."}, but: []string{"kith/backend/cmd/kith"}, tests: []string{"kith/wasm/host"}, why: "the backend is tested without an edge"},
	{of: []string{"kith/wasm/e2e/..."}, tests: []string{"kith/backend/..."},
		may: []string{"kith/backend/testenv", "kith/backend/libsql", "kith/backend/store/sqldtest", "kith/backend/file/bucket/s3test", "kith/backend/client", "kith/backend/trace/tracetest"},
		why: "it tests the built programs from outside"},
}

// pkg is the output of go list for a package.
type pkg struct {
	ImportPath, Dir           string
	Standard, DepOnly         bool
	Imports, Deps             []string
	TestImports, XTestImports []string
}

// list returns packages of this project and everything they link.
func list(t *testing.T, env []string, args ...string) map[string]pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Dir,Standard,DepOnly,Imports,Deps,TestImports,XTestImports"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	pkgs := map[string]pkg{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else {
			require.NoError(t, err)
		}
		pkgs[p.ImportPath] = p
	}
}

// Import rules, for the packages as Go builds them.
func TestImports_Backend(t *testing.T) {
	pkgs := list(t, nil, "kith/...")
	checked := 0
	for _, p := range pkgs {
		if strings.HasPrefix(p.ImportPath+"/", "kith/") && !p.DepOnly {
			checkImports(t, p, pkgs)
			checked++
		}
	}
	require.NotZero(t, checked)
}

// Import rules, for the packages of the component as TinyGo builds them: their
// host functions are in files that Go does not see.
func TestImports_Guest(t *testing.T) {
	// Cgo is needed to see files with C in them; go list compiles none.
	env := []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=1"}
	pkgs := list(t, env, "-e", "-tags=tinygo,tinygo.wasm", "kith/core/...", "kith/edge/...")
	checked := 0
	for _, p := range pkgs {
		if strings.HasPrefix(p.ImportPath+"/", "kith/") {
			checkImports(t, p, pkgs)
			checked++
		}
		// make guest compiles these tests with TinyGo, which has no net/http.
		if strings.HasPrefix(p.ImportPath+"/", "kith/core/") {
			for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
				if path == "net/http" || covers(assertions, path) {
					t.Errorf("tests of %s import %s, which needs net/http and does not compile as a guest: use testing alone, or the build tag !tinygo", p.ImportPath, path)
				}
			}
		}
	}
	require.NotZero(t, checked)
}

// checkImports reports what a package imports beyond its walls.
func checkImports(t *testing.T, p pkg, pkgs map[string]pkg) {
	for _, w := range walls {
		if !covers(w.of, p.ImportPath) || covers(w.but, p.ImportPath) {
			continue
		}
		forbids := func(patterns []string, path string) bool {
			return covers(patterns, path) && path != p.ImportPath && !covers(w.may, path)
		}
		for _, path := range p.Imports {
			if forbids(w.imports, path) || pkgs[path].Standard && w.std != nil && !covers(w.std, path) {
				t.Errorf("%s imports %s, and may not: %s", p.ImportPath, path, w.why)
			}
		}
		reported := map[string]bool{}
		for _, path := range p.Deps {
			outside := w.only != nil && !pkgs[path].Standard && path != "C" && !covers(w.only, path)
			// One import often links many packages: report the first.
			if direct := directImport(p, path, pkgs); (outside || forbids(w.links, path)) && !reported[direct] {
				reported[direct] = true
				t.Errorf("%s links %s through %s, and may not: %s", p.ImportPath, path, direct, w.why)
			}
		}
		for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
			if forbids(w.tests, path) {
				t.Errorf("tests of %s import %s, and may not: %s", p.ImportPath, path, w.why)
			}
		}
	}
}

// directImport returns the import of p through which it reaches path.
func directImport(p pkg, path string, pkgs map[string]pkg) string {
	for _, direct := range p.Imports {
		if direct == path || slices.Contains(pkgs[direct].Deps, path) {
			return direct
		}
	}
	return "?"
}

func covers(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		below, all := strings.CutSuffix(pattern, "/...")
		return path == below || all && strings.HasPrefix(path, below+"/")
	})
}

// A rule must be a function of its input: it must not read a clock, draw a random
// number or panic. The guest has no goroutines.
func TestSource_CoreAndEdgeStayPure(t *testing.T) {
	files := 0
	for _, dir := range []string{".", "../edge"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) && path == dir {
				return nil // the component is not written yet
			}
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if what := impure(n, dir == "."); what != "" {
					t.Errorf("%s: %s", fset.Position(n.Pos()), what)
				}
				return true
			})
			return nil
		})
		require.NoError(t, err)
	}
	require.NotZero(t, files)
}

// impure describes what makes a node impure; "" if it is pure.
func impure(n ast.Node, inCore bool) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a goroutine"
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "panic" && inCore {
			return "panic: return an error"
		}
	case *ast.SelectorExpr:
		x, _ := n.X.(*ast.Ident)
		switch {
		case x == nil || !inCore:
		case x.Name == "rand":
			return "rand: take random bytes as a parameter"
		case x.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "Tick"}, n.Sel.Name):
			return "time." + n.Sel.Name + ": take the time as a parameter"
		}
	}
	return ""
}

// Each wall has a reason, and stands before a package that exists.
func TestImports_TableIsWellFormed(t *testing.T) {
	pkgs := list(t, nil, "kith/...")
	for _, w := range walls {
		assert.NotEmpty(t, w.why, w.of)
		for _, of := range slices.Concat(w.of, w.but) {
			exists := slices.ContainsFunc(slices.Collect(maps.Keys(pkgs)), func(path string) bool { return covers([]string{of}, path) })
			assert.True(t, exists, "%s: there is no such package", of)
		}
	}
}
