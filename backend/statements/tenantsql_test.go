package statements

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqltest"
)

// Reasons of statements of workers, which leave out the tenants that are being restored or erased.
const (
	takesWork    = "a worker takes work of any tenant, and gets the tenant with it"
	looksForWork = "a worker looks for work of all tenants"
	addsWork     = "a worker adds work for all tenants; each row has its tenant"
)

// acrossTenants are the statements that need not name a tenant: the function that
// has the statement, then the beginning of the statement if the function has others
// too, and the reason.
var acrossTenants = map[string]string{
	"loadFacts: SELECT EXISTS": "the last numbers of two tables, no row of them",
	"findLastUser":             "a number of the table, no row of it",
	"IndexAdded: SELECT coalesce(max(seq), 0) FROM user": "a number of the table, no row of it",
	"ReadIntakePosition: SELECT":                         "numbers of the table, no row of it",
	"IntakeShift":                                        "a number of the table, no row of it",
	"Backlog":                                            "counts of all tenants, for the operator",
	"indexNew":                                           "indexes the users that the same transaction added",
	"countNew":                                           "counts the users that the same transaction added; each row has its tenant",
	"RefusedUndated":                                     "the operator's examination of all tenants",
	"RequireIndexed":                                     "tests compare the index of all tenants",
	"EditedSince":                                        "a worker looks for edits of all tenants, and gets the tenant with each",
	"ListTenants":                                        "the operator's list of tenants",
	"AnyDue: SELECT EXISTS (SELECT 1 FROM webhook_delivery": looksForWork,
	"DueQueues":       takesWork,
	"PutBack":         "a worker gives work of any tenant back; each delivery names its tenant",
	"EndAttempts":     "a worker records work of any tenant; each delivery names its tenant",
	"IntakeWaits":     "a worker processes calls in order; those of a restored tenant come last",
	"recordSenderUse": "a worker processes calls in order; each row has its tenant",
	"PutEvents":       "a worker processes calls in order; each row has its tenant",
	"TakeEvents":      takesWork,
	"Waiting":         looksForWork,
	"TakeReplays":     takesWork,
	"NextBatch":       "a worker processes calls in order; each row has its tenant",
	"ProcessBatch":    "a worker processes calls in order; each row has its tenant",
	"AnyWaiting":      looksForWork,
	"Tokens":          "a worker looks for the leases of processes that stopped, of all tenants",
	"Release":         "ends the leases of processes that stopped, of all tenants",
	"LeaseNext":       "a worker takes the job of which AnyWaiting has one, and gets the tenant with it",
	"lease":           "LeaseNext, and LeaseJob, which names the tenant",
	"AnyDue: SELECT EXISTS (SELECT 1 FROM reward r": looksForWork,
	"ListDue":                    "a worker takes the rewards of which AnyDue has one, and gets the tenant with each",
	"FirstBlockDue":              takesWork,
	"Notifications":              takesWork,
	"Due":                        looksForWork,
	"Take":                       takesWork,
	"Retry":                      "any kind of operation; the condition names the tenant",
	"HasFollowed":                looksForWork,
	"AskForFollowed":             addsWork,
	"ExpiredFiles":               "deletes by age, for all tenants",
	"DeleteOldJobs":              "deletes by age, for all tenants",
	"DeleteOld":                  "deletes by age, for all tenants",
	"ForgetErased":               "deletes by age, for all tenants",
	"DeleteProcessedIntake":      "deletes by age, for all tenants",
	"ForgetVisitBatches":         "deletes by age, for all tenants",
	"AddVisits":                  "a batch has visits of several tenants; each row has its tenant",
	"ClearPayloads":              "deletes by age, for all tenants",
	"HasOldPayloads":             "deletes by age, for all tenants",
	"EraseRows":                  "any table; the condition is on its Table.Tenant",
	"LoadRows":                   "any table of a backup; checked by Table.Tenant if the backup is of one tenant",
	"BeginRestore":               "an empty database",
	"Count":                      "any table of a database that was just restored",
	"Aliases":                    "the list of the tenants",
	"FindMasterKey":              "any tenant's sealed key, to check the master key",
	"APIKeySecrets: SELECT":      "a page of the secrets of all tenants, to seal them under another master key",
	"page: SELECT UNKNOWN":       "any export; jobdb checks the statement of each",
	"ownersOf":                   "the beginning of an export; jobdb checks the statement of each",
	"rewardUpdated":              "a fragment of an export",
	"exports":                    "a fragment of an export",
	"ofUser":                     "a fragment of a condition of PersonalData",
	"PersonalData":               "a fragment of a condition",
	"DeleteOldRefused":           "deletes by age, for all tenants",
	"DeleteOldEntries":           "deletes by age, for all tenants",
	"DeleteOldInvitations":       "deletes by age, for all tenants",
	"DeleteLonely":               "a person is deleted who is a member of no tenant",
	"DeleteOldLonely":            "people are deleted who are members of no tenant",
	"Memberships":                "the tenants of a person who has signed in",
	"InvitationsOf":              "the address at the identity provider determines the invitations",
	"clearOrphaned":              "the events of a batch, of all tenants",
	"RequiringSecondStep":        "the tenants of a person who changes the own sign-in",
	"Notices":                    "the audit logs of the tenants of the person who is notified",
	"Absorb":                     "the tenants of the people with an address that is proven now",
	"FindInvitation":             "the secret in the link determines the tenant",
	"TargetOnHost":               "the host determines the tenant",
	"page: SELECT t.alias":       "the host determines the tenant",
	"needed: SELECT t.alias":     "the host determines the tenant; no row is read",
	"Insert: INSERT INTO tenant": "looks the alias up in any case, so that it is not used twice",
	"Begin: DELETE FROM UNKNOWN": "one of two tables, by the tenant of the run",
	"Begin: INSERT INTO UNKNOWN": "one of two tables, with the tenant of the run",
	"Check: SELECT count(*) > 0 FROM UNKNOWN": "one of two tables, by the tenant of the run",
	"FindAlias": "looks the alias up in any case",
}

// Every SQL statement of the program names the tenant of the rows that it reads or
// writes: each of its tables with a tenant column has a condition on that column, or
// a value for it. The condition must be in the source text of the statement, where a
// reader sees it: one that is built at run time does not count.
func TestSQL_NamesTheTenant(t *testing.T) {
	t.Parallel()
	tree := parseTree(t)
	tenantColumn := sqltest.TenantColumns(t)
	excused := map[string]bool{}
	statements := 0
	for _, s := range tree.statements(t) {
		fault := sqltest.MissingTenants(s.text, tenantColumn)
		name := excuse(s.function, s.text)
		switch {
		case name != "":
			excused[name] = true
			if reason := acrossTenants[name]; slices.Contains([]string{takesWork, looksForWork, addsWork}, reason) {
				require.Contains(t, s.text, "EXISTS (SELECT 1 FROM tenant WHERE alias = ", "%s: %s: use store.TenantExists", tree.files.Position(s.at), s.function)
			}
		case fault != "":
			t.Errorf("%s: %s: %s\n%s", tree.files.Position(s.at), s.function, fault, s.text)
		}
		statements++
	}
	for name := range acrossTenants {
		require.True(t, excused[name], "acrossTenants has %s, which has no such statement", name)
	}
	require.Greater(t, statements, 200, "statements of the tree")
}

func excuse(function, text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for name := range acrossTenants {
		if of, begin, _ := strings.Cut(name, ": "); of == function && strings.HasPrefix(text, begin) {
			return name
		}
	}
	return ""
}

// The check finds statements that lack a condition.
func TestSQL_NamesTheTenant_Finds(t *testing.T) {
	t.Parallel()
	tenantColumn := sqltest.TenantColumns(t)
	for text, want := range map[string]string{
		`SELECT 1 FROM user WHERE tenant = ?`:                                                                  "",
		`SELECT 1 FROM user u WHERE u.tenant = ?1 AND u.id = ?2`:                                               "",
		`SELECT 1 FROM user WHERE id = ?`:                                                                      "user",
		`SELECT tenant FROM user WHERE id = ?`:                                                                 "user",
		`SELECT 1 FROM user_index CROSS JOIN user u ON u.seq = user_index.rowid WHERE user_index MATCH ?`:      "u",
		`SELECT 1 FROM tenant t JOIN code c ON c.tenant = t.alias JOIN user u ON u.id = c.id WHERE t.alias=?1`: "u",
		`SELECT 1 FROM tenant t JOIN code c ON c.tenant = t.alias WHERE t.alias = ?1`:                          "",
		`SELECT 1 FROM tenant t JOIN code c ON c.tenant = t.alias`:                                             "c, t",
		`SELECT 1 FROM account a WHERE a.tenant = ? AND EXISTS (SELECT 1 FROM code WHERE tenant = a.tenant)`:   "",
		`SELECT 1 FROM account a WHERE a.tenant = ? AND EXISTS (SELECT 1 FROM code WHERE code = a.id)`:         "code",
		`SELECT 1 FROM account WHERE tenant = ? UNION SELECT 1 FROM user`:                                      "user",
		`INSERT INTO code (tenant, code) VALUES (?, ?)`:                                                        "",
		`INSERT INTO code (code) VALUES (?)`:                                                                   "code",
		`INSERT INTO code (tenant, code) SELECT tenant, code FROM code`:                                        "code",
		`UPDATE OR REPLACE user SET id = ? WHERE seq = ?`:                                                      "user",
		`UPDATE user SET tenant = ? WHERE seq = ?`:                                                             "user",
		`DELETE FROM user WHERE (tenant = ? OR tenant = ?)`:                                                    "",
		`DELETE FROM user WHERE seq IN (SELECT seq FROM user WHERE tenant = ?)`:                                "user",
		`DELETE FROM ` + sqltest.Unknown + ` WHERE id = ?`:                                                     "a table that the text does not name",
	} {
		got := sqltest.MissingTenants(text, tenantColumn)
		if want != "" && !strings.HasPrefix(want, "a table") {
			want = "no condition on the tenant of " + want
		}
		require.Equal(t, want, got, text)
	}
}

// goTree is the source of the program, without tests.
type goTree struct {
	files *token.FileSet
	// packages has the declarations of each package, by its folder.
	packages map[string]*goPackage
	// used are the literals that are part of a statement.
	used map[*ast.BasicLit]bool
	// read caches the texts of expressions.
	read map[ast.Expr]*readText
}

type readText struct {
	texts    []string
	literals map[*ast.BasicLit]bool
}

type goPackage struct {
	values    map[string]ast.Expr
	functions map[string]*ast.FuncDecl
	decls     []ast.Decl
}

type sqlStatement struct {
	at             token.Pos
	function, text string
}

func parseTree(t *testing.T) *goTree {
	t.Helper()
	tree := &goTree{files: token.NewFileSet(), packages: map[string]*goPackage{}, used: map[*ast.BasicLit]bool{}, read: map[ast.Expr]*readText{}}
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "testdata" || name == "bin" || name == "node_modules" || path != root && strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(tree.files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		tree.add(folder, file)
		return nil
	}))
	require.Contains(t, tree.packages, filepath.Join("backend", "store"))
	return tree
}

func (g *goTree) add(folder string, file *ast.File) {
	p := g.packages[folder]
	if p == nil {
		p = &goPackage{values: map[string]ast.Expr{}, functions: map[string]*ast.FuncDecl{}}
		g.packages[folder] = p
	}
	for _, decl := range file.Decls {
		p.decls = append(p.decls, decl)
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				p.functions[decl.Name.Name] = decl
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if spec, ok := spec.(*ast.ValueSpec); ok {
					for i, value := range spec.Values {
						p.values[spec.Names[i].Name] = value
					}
				}
			}
		}
	}
}

// statements returns all statements of the tree, and each other text with a table
// that is part of none of them.
func (g *goTree) statements(t *testing.T) (all []sqlStatement) {
	t.Helper()
	for folder, p := range g.packages {
		for _, decl := range p.decls {
			r := reader{tree: g, of: p, folder: folder, function: declared(decl)}
			if f, ok := decl.(*ast.FuncDecl); ok {
				r.function, r.body = f.Name.Name, f.Body
				if makesText(f) && !strings.Contains(f.Name.Name, "Statement") {
					// The text is read where the function is called.
					continue
				}
			}
			all = append(all, r.statements(decl)...)
		}
	}
	for _, p := range g.packages {
		for _, decl := range p.decls {
			function := declared(decl)
			ast.Inspect(decl, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if ok && lit.Kind == token.STRING && !g.used[lit] && sqltest.Table.MatchString(value(lit)) {
					all = append(all, sqlStatement{lit.Pos(), function, value(lit)})
				}
				return true
			})
		}
	}
	return all
}

// makesText reports whether a function returns one string.
func makesText(f *ast.FuncDecl) bool {
	results := f.Type.Results
	if f.Body == nil || results == nil || len(results.List) != 1 {
		return false
	}
	name, ok := results.List[0].Type.(*ast.Ident)
	return ok && name.Name == "string"
}

func value(lit *ast.BasicLit) string {
	s, _ := strconv.Unquote(lit.Value)
	return s
}

// reader reads the texts of a function, or of a declaration.
type reader struct {
	tree             *goTree
	of               *goPackage
	folder, function string
	body             *ast.BlockStmt
	// given has the texts of the parameters.
	given map[string][]string
	depth int
}

func (r reader) statements(decl ast.Decl) (all []sqlStatement) {
	ast.Inspect(decl, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && r.body == nil {
			// A text of the package is read where it is used: it may be a fragment.
			return !slices.ContainsFunc(spec.Values, isText)
		}
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		switch e := e.(type) {
		case *ast.BinaryExpr, *ast.BasicLit, *ast.CallExpr, *ast.SelectorExpr:
		case *ast.Ident:
			// A local variable is read where it is assigned.
			if v := r.of.values[e.Name]; v == nil || !isText(v) {
				return true
			}
		default:
			return true
		}
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind != token.STRING {
			return true
		}
		literals := map[*ast.BasicLit]bool{}
		found := false
		for _, text := range r.texts(e, literals) {
			if sqltest.Verb.MatchString(text) {
				all = append(all, sqlStatement{e.Pos(), r.function, text})
				found = true
			}
		}
		if found {
			for lit := range literals {
				r.tree.used[lit] = true
			}
		}
		_, call := e.(*ast.CallExpr)
		return !found || call
	})
	return all
}

// isText reports whether an expression is a string literal, or a concatenation with
// one.
func isText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.BinaryExpr:
		return isText(e.X) || isText(e.Y)
	}
	return false
}

// declared returns the name of a function, or of the first of some variables.
func declared(decl ast.Decl) string {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		return decl.Name.Name
	case *ast.GenDecl:
		if spec, ok := decl.Specs[0].(*ast.ValueSpec); ok {
			return spec.Names[0].Name
		} else if spec, ok := decl.Specs[0].(*ast.TypeSpec); ok {
			return spec.Name.Name
		}
	}
	return ""
}

const maxVariants = 64

// texts returns the values that an expression may have, with sqltest.Unknown for the
// fragments that are built at run time.
func (r reader) texts(e ast.Expr, literals map[*ast.BasicLit]bool) []string {
	if r.depth++; r.depth > 40 {
		return []string{sqltest.Unknown}
	}
	if r.given != nil {
		return r.read(e, literals)
	}
	known := r.tree.read[e]
	if known == nil {
		// An expression that refers to itself is sqltest.Unknown while it is read.
		r.tree.read[e] = &readText{texts: []string{sqltest.Unknown}}
		known = &readText{literals: map[*ast.BasicLit]bool{}}
		known.texts = r.read(e, known.literals)
		r.tree.read[e] = known
	}
	maps.Copy(literals, known.literals)
	return known.texts
}

// read is texts without the cache.
func (r reader) read(e ast.Expr, literals map[*ast.BasicLit]bool) []string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			literals[e] = true
			return []string{value(e)}
		}
	case *ast.ParenExpr:
		return r.texts(e.X, literals)
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			var all []string
			right := r.texts(e.Y, literals)
			for _, x := range r.texts(e.X, literals) {
				for _, y := range right {
					all = append(all, x+y)
				}
			}
			slices.Sort(all)
			all = slices.Compact(all)
			if len(all) > maxVariants {
				panic(fmt.Sprint("too many texts at ", r.tree.files.Position(e.Pos())))
			}
			return all
		}
	case *ast.Ident:
		return r.named(e, literals)
	case *ast.SelectorExpr:
		if from, ok := e.X.(*ast.Ident); ok {
			for folder, p := range r.tree.packages {
				if filepath.Base(folder) == from.Name && p.values[e.Sel.Name] != nil {
					return reader{tree: r.tree, of: p, depth: r.depth}.texts(p.values[e.Sel.Name], literals)
				}
			}
		}
	case *ast.CallExpr:
		return r.called(e, literals)
	}
	return []string{sqltest.Unknown}
}

// named returns the texts of a name: a parameter, a local variable, or a variable of
// the package.
func (r reader) named(name *ast.Ident, literals map[*ast.BasicLit]bool) (all []string) {
	if given, ok := r.given[name.Name]; ok {
		return given
	}
	if r.body != nil {
		ast.Inspect(r.body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if left, ok := left.(*ast.Ident); ok && left.Name == name.Name && n.Pos() < name.Pos() && name.Pos() > n.End() {
						if len(n.Lhs) == len(n.Rhs) && n.Tok != token.ADD_ASSIGN {
							all = append(all, r.texts(n.Rhs[i], literals)...)
						} else {
							all = append(all, sqltest.Unknown)
						}
					}
				}
			case *ast.ValueSpec:
				for i, left := range n.Names {
					if left.Name == name.Name && i < len(n.Values) {
						all = append(all, r.texts(n.Values[i], literals)...)
					}
				}
			}
			return true
		})
	}
	if len(all) > 0 {
		return all
	}
	if v := r.of.values[name.Name]; v != nil {
		return reader{tree: r.tree, of: r.of, depth: r.depth}.texts(v, literals)
	}
	return []string{sqltest.Unknown}
}

// called returns the texts that a function of the program may return.
func (r reader) called(call *ast.CallExpr, literals map[*ast.BasicLit]bool) (all []string) {
	if method, ok := call.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "SQL" {
		return r.selected(method.X, literals)
	}
	f, of := r.functionOf(call.Fun)
	if f == nil || !makesText(f) {
		return []string{sqltest.Unknown}
	}
	given, place := map[string][]string{}, 0
	for _, field := range f.Type.Params.List {
		for _, parameter := range field.Names {
			if place < len(call.Args) {
				given[parameter.Name] = r.texts(call.Args[place], literals)
			}
			place++
		}
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if done, ok := n.(*ast.ReturnStmt); ok {
			all = append(all, reader{tree: r.tree, of: of, body: f.Body, given: given, depth: r.depth}.texts(done.Results[0], literals)...)
		}
		return true
	})
	return all
}

// functionOf returns the function that is called, and its package.
func (r reader) functionOf(called ast.Expr) (*ast.FuncDecl, *goPackage) {
	switch called := called.(type) {
	case *ast.Ident:
		return r.of.functions[called.Name], r.of
	case *ast.SelectorExpr:
		if from, ok := called.X.(*ast.Ident); ok {
			for folder, p := range r.tree.packages {
				if filepath.Base(folder) == from.Name && p.functions[called.Sel.Name] != nil {
					return p.functions[called.Sel.Name], p
				}
			}
		}
	}
	return nil, nil
}

// selected returns the SELECT list of a selection that is a composite literal, of this
// package or another.
func (r reader) selected(of ast.Expr, literals map[*ast.BasicLit]bool) []string {
	in, name := r, ""
	switch of := of.(type) {
	case *ast.Ident:
		name = of.Name
	case *ast.SelectorExpr:
		if from, ok := of.X.(*ast.Ident); ok {
			for folder, p := range r.tree.packages {
				if filepath.Base(folder) == from.Name && p.values[of.Sel.Name] != nil {
					in, name = reader{tree: r.tree, of: p, depth: r.depth}, of.Sel.Name
				}
			}
		}
	}
	value := in.of.values[name]
	if with, ok := value.(*ast.CallExpr); ok {
		// Columns of other selections follow; a table is in none of them.
		if method, ok := with.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "With" {
			value = method.X
		}
	}
	list, ok := value.(*ast.CompositeLit)
	if !ok {
		return []string{sqltest.Unknown}
	}
	columns := make([]string, len(list.Elts))
	for i, column := range list.Elts {
		columns[i] = strings.Join(in.texts(column.(*ast.CallExpr).Args[0], literals), " ")
	}
	return []string{strings.Join(columns, ", ")}
}
