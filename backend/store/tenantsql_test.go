package store

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core/job"
)

// acrossTenants are the statements that need not name a tenant: the function that
// has one, what it begins with where the function has others, and why.
var acrossTenants = map[string]string{
	"loadFacts: SELECT EXISTS": "the last numbers of two tables, no row of them",
	"findLastUser":             "a number of the table, no row of it",
	"indexAdded: SELECT coalesce(max(seq), 0) FROM user": "a number of the table, no row of it",
	"Intake: SELECT":        "numbers of the table, no row of it",
	"IntakeShift":           "a number of the table, no row of it",
	"Backlog":               "counts of all tenants, for the operator",
	"indexNew":              "what the same transaction added goes into the index, of whichever tenant",
	"BillingDue":            "a worker asks for all tenants",
	"LeaseBilling":          "a worker takes work of any tenant, and gets the tenant with it",
	"WebhooksDue":           "a worker asks for all tenants",
	"WebhookLines":          "a worker takes work of any tenant, and gets the tenant with it",
	"IntakeWaits":           "a worker asks for all tenants",
	"useSenders":            "a worker processes calls in their order; each row brings its tenant",
	"ProcessIntake":         "a worker processes calls in their order; each row brings its tenant",
	"JobWaits":              "a worker asks for all tenants",
	"ClaimJob":              "a worker takes work of any tenant, and gets the tenant with it",
	"claim":                 "ClaimJob, and ClaimThisJob, which names the tenant",
	"RewardsDue":            "a worker asks for all tenants",
	"DueRewards":            "a worker takes work of any tenant, and gets the tenant with it",
	"Notifications":         "a worker takes work of any tenant, and gets the tenant with it",
	"SweepDue":              "a worker asks for all tenants",
	"TakeSweeps":            "a worker takes work of any tenant, and gets the tenant with it",
	"CouponDue":             "a worker asks for all tenants",
	"TakeCoupons":           "a worker takes work of any tenant, and gets the tenant with it",
	"ExpiredFiles":          "a sweep by age, of all tenants",
	"DeleteOldJobs":         "a sweep by age, of all tenants",
	"ForgetWebhooks":        "a sweep by age, of all tenants",
	"ForgetIntake":          "a sweep by age, of all tenants",
	"ForgetPayloads":        "a sweep by age, of all tenants",
	"PayloadsOld":           "a sweep by age, of all tenants",
	"EraseRows":             "any table; the condition is on its Table.Tenant",
	"Load":                  "any table, of a backup; checked by Table.Tenant when it is of one tenant",
	"BeginRestore":          "an empty database",
	"Aliases":               "the list of the tenants",
	"KeyEvidence":           "any tenant's sealed key, to see whether the master key opens it",
	"APIKeySecrets: SELECT": "a page of the secrets of all tenants, to be sealed under another master key",
	"page: SELECT UNKNOWN":  "any export; see below, where each is made",
	"userOf":                "a part of an export",
	"rewardUpdated":         "a part of an export",
	"exports":               "a part of an export",
	"ofUser":                "a part of a condition of personal",
	"personal":              "a part of a condition of personal",
	"LinkTargetOnHost":      "the host tells whose site it is",
	"page: SELECT t.alias":  "the host tells whose site it is",
	"InsertTenant":          "the alias is looked up without regard to case, so that it is not given twice",
	"TenantNamed":           "the same look-up, to say whose it is",
}

// Every SQL statement of the program names the tenant whose rows it touches: each
// of its tables with a tenant column has a condition on it, or a value for it. The
// condition must be in the text of the statement, where a reader sees it: one that
// is put together while the program runs does not count.
func TestSQL_NamesTheTenant(t *testing.T) {
	t.Parallel()
	tree := parseTree(t)
	tenantColumn := tenantColumns(t)
	excused := map[string]bool{}
	statements := 0
	for _, s := range tree.statements(t) {
		fault := nameless(s.text, tenantColumn)
		name := excuse(s.function, s.text)
		switch {
		case name != "":
			excused[name] = true
		case fault != "":
			t.Errorf("%s: %s: %s\n%s", tree.files.Position(s.at), s.function, fault, s.text)
		}
		statements++
	}
	for name := range acrossTenants {
		require.True(t, excused[name], "%s is excused and is not there", name)
	}
	require.Greater(t, statements, 200, "statements of the tree")

	// Those that are put together, as they are then.
	for kind, e := range exports {
		text, _ := e.page("t", job.Params{}, nil, 1)
		require.Empty(t, nameless(text, tenantColumn), kind)
	}
	for table, where := range personal {
		if where != "" {
			require.Empty(t, nameless(`SELECT 1 FROM `+table+` WHERE `+where, tenantColumn), table)
		}
	}
	for _, p := range []*put{putAccounts, putCodes, putDecisions, putEvents, putIntake, putNewRewards, putReferrals, putUsers} {
		for _, rows := range []int{0, 2} {
			require.Empty(t, nameless(p.make(putShape{rows: rows}), tenantColumn), p.table)
		}
	}
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

// The check finds what it is for.
func TestSQL_NamesTheTenant_Finds(t *testing.T) {
	t.Parallel()
	tenantColumn := tenantColumns(t)
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
		`DELETE FROM ` + unknown + ` WHERE id = ?`:                                                             "a table that the text does not name",
	} {
		got := nameless(text, tenantColumn)
		if want != "" && !strings.HasPrefix(want, "a table") {
			want = "no condition on the tenant of " + want
		}
		require.Equal(t, want, got, text)
	}
}

// tenantColumns are the tables that have rows of tenants, each with its column
// that names the tenant.
func tenantColumns(t *testing.T) map[string]string {
	t.Helper()
	p, err := Open("file:"+filepath.Join(t.TempDir(), "kith.db"), "")
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Migrate(t.Context(), 1))
	rows, err := p.read.QueryContext(t.Context(), `SELECT m.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'tenant'`)
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

// unknown stands for a part of a statement that is put together while the program
// runs.
const unknown = "UNKNOWN"

var (
	sqlToken = regexp.MustCompile(`'(?:[^']|'')*'|"[^"]*"|[A-Za-z_][A-Za-z0-9_]*|\?[0-9]*|[0-9]+|[^\sA-Za-z0-9_]`)
	sqlVerb  = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|WITH|REPLACE)\s`)
	// sqlTable finds what reads or writes a table, in a text that may be a part of a
	// statement.
	sqlTable = regexp.MustCompile(`\b(FROM|JOIN|INTO|UPDATE)\s+([a-z_]+|$)`)
	sqlName  = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)
)

// source is one table of a SELECT, an UPDATE or a DELETE.
type source struct {
	table, alias string
	// named is true when its tenant is a parameter, and same are those whose tenant
	// is the same.
	named bool
	same  []*source
}

// scope is one SELECT, UPDATE or DELETE, within another one or not.
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

// nameless says which tables of a statement have no condition on their tenant; it
// is empty when there are none.
func nameless(text string, tenantColumn map[string]string) string {
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
	// First the tables, since a column may come before its table.
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
				return "a bracket that closes nothing"
			}
			stack = stack[:top]
		case "SELECT":
			if at(i-1) != "(" {
				// The next part of a UNION, or what an INSERT takes.
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
		if table == unknown {
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
	// Then what is said of their tenants.
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

// goTree is the Go code of the program, without tests.
type goTree struct {
	files *token.FileSet
	// packages has the declarations of each, by the last part of its path.
	packages map[string]*goPackage
	// used are the literals that are part of a statement.
	used map[*ast.BasicLit]bool
	// read are the texts of expressions.
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
		case entry.IsDir() && (name == "testdata" || name == "bin" || path != root && strings.HasPrefix(name, ".")):
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

// statements are all statements of the tree. It fails at a text with a table that is
// part of none of them.
func (g *goTree) statements(t *testing.T) (all []sqlStatement) {
	t.Helper()
	for folder, p := range g.packages {
		for _, decl := range p.decls {
			r := reader{tree: g, of: p, folder: folder, function: declared(decl)}
			if f, ok := decl.(*ast.FuncDecl); ok {
				r.function, r.body = f.Name.Name, f.Body
				if makesText(f) && !strings.Contains(f.Name.Name, "Statement") {
					// It is read where it is called.
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
				if ok && lit.Kind == token.STRING && !g.used[lit] && sqlTable.MatchString(value(lit)) {
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
	// given are the values of parameters.
	given map[string][]string
	depth int
}

func (r reader) statements(decl ast.Decl) (all []sqlStatement) {
	ast.Inspect(decl, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && r.body == nil {
			// A text of the package is read where it is used: it may be a part.
			return !slices.ContainsFunc(spec.Values, isText)
		}
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		switch e := e.(type) {
		case *ast.BinaryExpr, *ast.BasicLit, *ast.CallExpr, *ast.SelectorExpr:
		case *ast.Ident:
			// What a variable of the function is, is read where it gets it.
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
			if sqlVerb.MatchString(text) {
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

// isText reports whether an expression is a text in one piece, or of several.
func isText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.BinaryExpr:
		return isText(e.X) || isText(e.Y)
	}
	return false
}

// declared is the name of a function, or of the first of some variables.
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

// texts are the values that an expression may have, with unknown for what the
// program makes of its own.
func (r reader) texts(e ast.Expr, literals map[*ast.BasicLit]bool) []string {
	if r.depth++; r.depth > 40 {
		return []string{unknown}
	}
	if r.given != nil {
		return r.read(e, literals)
	}
	known := r.tree.read[e]
	if known == nil {
		// What refers to itself is unknown while it is read.
		r.tree.read[e] = &readText{texts: []string{unknown}}
		known = &readText{literals: map[*ast.BasicLit]bool{}}
		known.texts = r.read(e, known.literals)
		r.tree.read[e] = known
	}
	maps.Copy(literals, known.literals)
	return known.texts
}

// read is texts of what was not read before.
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
	return []string{unknown}
}

// named is what a name stands for: a parameter, a variable of the function, or one
// of the package.
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
							all = append(all, unknown)
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
	return []string{unknown}
}

// called is what a function of the package returns.
func (r reader) called(call *ast.CallExpr, literals map[*ast.BasicLit]bool) (all []string) {
	if method, ok := call.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "list" {
		return r.selected(method.X, literals)
	}
	name, ok := call.Fun.(*ast.Ident)
	if !ok {
		return []string{unknown}
	}
	f := r.of.functions[name.Name]
	if f == nil || !makesText(f) {
		return []string{unknown}
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
			all = append(all, reader{tree: r.tree, of: r.of, body: f.Body, given: given, depth: r.depth}.texts(done.Results[0], literals)...)
		}
		return true
	})
	return all
}

// selected is the SELECT list of a selection of the package, when it is written out.
func (r reader) selected(of ast.Expr, literals map[*ast.BasicLit]bool) []string {
	name, ok := of.(*ast.Ident)
	if !ok {
		return []string{unknown}
	}
	list, ok := r.of.values[name.Name].(*ast.CompositeLit)
	if !ok {
		return []string{unknown}
	}
	columns := make([]string, len(list.Elts))
	for i, column := range list.Elts {
		columns[i] = strings.Join(r.texts(column.(*ast.CompositeLit).Elts[0], literals), " ")
	}
	return []string{strings.Join(columns, ", ")}
}
