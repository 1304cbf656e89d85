//go:build !tinygo

package core_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mayWait are files with a wait that the check finds and that can fail no test, each with
// the reason.
var mayWait = map[string]string{
	"backend/libsql/connect_test.go":      "a slow driver, on the clock of synctest",
	"wasm/e2e/browser/run.mjs":            "eventually itself",
	"wasm/e2e/faults_linux_test.go":       "a fault lasts for a time that the run chooses",
	"wasm/e2e/loadgencheck_linux_test.go": "a server whose time the load generator must measure",
	"wasm/e2e/outage_test.go":             "the callers begin at different times",
	"wasm/e2e/ready_test.go":              "a slow proxy",
	"wasm/e2e/siege_test.go":              "the attack begins before what is measured; only long runs bound a time",
	"wasm/e2e/targetidle_linux_test.go":   "a benchmark",
}

// Tests wait for conditions. The check finds what fails a test on a busy machine: a sleep
// that nothing repeats, an upper bound on a time that was measured, a port that is freed
// and then bound again or asked, the output of a running process that is read once, and in scenarios of
// a browser a read that does not wait, right after an action.
func TestWaits_AreForConditions(t *testing.T) {
	git := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*_test.go", "wasm/e2e/browser/*.mjs")
	git.Dir, git.Stderr = "..", os.Stderr
	out, err := git.Output()
	require.NoError(t, err)
	files := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	require.Greater(t, len(files), 100)
	needed := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("..", file))
		if os.IsNotExist(err) {
			continue // removed, but not yet from the index
		}
		require.NoError(t, err)
		for _, found := range findWaits(t, file, string(text)) {
			needed[file] = true
			assert.Contains(t, mayWait, file, found)
		}
	}
	for file := range mayWait {
		assert.Contains(t, needed, file, "no such wait is left: remove the exception")
	}
}

// The check finds each of the forms, and no form that waits.
func TestWaits_Find(t *testing.T) {
	for body, finds := range map[string]int{
		`time.Sleep(1)`: 1,
		`for { time.Sleep(1) }; synctest.Test(t, func(t *testing.T) { time.Sleep(1) })`: 0,
		`require.Less(t, time.Since(began), 5)`:                                         1,
		`took := time.Since(began); require.LessOrEqual(t, took.Seconds(), 5)`:          1,
		`took := time.Since(began); require.GreaterOrEqual(t, took, 5); t.Log(took)`:    0,
		`require.Eventually(t, ready, time.Second, 1)`:                                  1,
		`require.Eventually(t, ready, sqldtest.Deadline, 1)`:                            0,
		`l, _ := net.Listen("tcp", "127.0.0.1:0"); l.Close()`:                           1,
		`l, _ := net.Listen("tcp", "127.0.0.1:0"); defer l.Close()`:                     0,
		`s := httptest.NewServer(h); ask(s.URL); s.Close(); ask(s.URL)`:                 1,
		`s := httptest.NewServer(h); t.Cleanup(func() { s.Close() }); ask(s.URL)`:       0,
		`require.Contains(t, p.output.String(), "ready")`:                               1,
		`require.Contains(t, p.log(t), "ready"); t.Log(p.output)`:                       0,
	} {
		found := findWaits(t, "a_test.go", "package a\nfunc f() {\n"+body+"\n}")
		assert.Len(t, found, finds, "%s: %q", body, found)
	}
	for body, finds := range map[string]int{
		"await page.waitForTimeout(100);": 1,
		"setTimeout(done, 100);":          1,
		"setTimeout(done);":               0,
		"await page.getByText('x').click();\nassert.equal(await page.locator('tr').count(), 1);":                                       1,
		"await page.getByText('x').click();\n// and then\nassert.ok(await page.locator('p').isVisible());":                             1,
		"await page.getByText('x').click();\nconst rows = await page.locator('p').allInnerTexts();":                                    1,
		"await page.getByText('x').click();\nawait page.getByText('y').waitFor();\nassert.equal(await page.locator('tr').count(), 1);": 0,
		"await page.getByText('x').click();\nawait eventually(async () => assert.equal(await page.locator('tr').count(), 1));":         0,
	} {
		found := findWaits(t, "a.mjs", body)
		assert.Len(t, found, finds, "%s: %q", body, found)
	}
}

func findWaits(t *testing.T, file, text string) []string {
	if strings.HasSuffix(file, ".mjs") {
		return findWaitsInScenario(file, text)
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, 0)
	require.NoError(t, err)
	var found []string
	for _, declared := range parsed.Decls {
		f, ok := declared.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		for at, what := range (&waitFinder{measured: map[string]bool{}, listeners: map[string]bool{}}).find(f.Body) {
			found = append(found, fmt.Sprintf("%s: %s", set.Position(at), what))
		}
	}
	slices.Sort(found)
	return found
}

// waitFinder finds the forms in one function.
type waitFinder struct {
	measured, listeners map[string]bool // names of variables
}

func (w *waitFinder) find(body ast.Node) map[token.Pos]string {
	found := map[token.Pos]string{}
	var within func(n ast.Node, looped, own bool)
	within = func(root ast.Node, looped, own bool) {
		ast.Inspect(root, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ForStmt, *ast.RangeStmt:
				if n != root && !looped {
					within(n, true, own)
					return false
				}
			case *ast.FuncLit, *ast.DeferStmt:
				if n != root && own {
					within(n, looped, false)
					return false
				}
			case *ast.AssignStmt:
				w.assigned(n)
			case *ast.CallExpr:
				switch name := nameOf(n.Fun); {
				case name == "synctest.Test":
					return false
				case name == "time.Sleep" && !looped:
					found[n.Pos()] = "sleeps once: wait for a condition, or use synctest"
				case strings.HasSuffix(name, ".output.String"):
					found[n.Pos()] = "reads the output of a process once: use waitLog, or log after its end"
				case own && strings.HasSuffix(name, ".Close") && w.listeners[strings.TrimSuffix(name, ".Close")]:
					found[n.Pos()] = "frees a port to bind it again: use sqldtest.FreeAddr; for one that refuses, use 127.0.0.1:1"
				case strings.HasSuffix(name, ".Eventually") && !mentions(n.Args[2], isDeadline) && !mentions(n.Args[2], isMinute):
					found[n.Pos()] = "gives up early: use sqldtest.Deadline"
				case (strings.HasSuffix(name, ".Less") || strings.HasSuffix(name, ".LessOrEqual")) && len(n.Args) > 2 && mentions(n.Args[1], w.isMeasured) && !mentions(n.Args[2], isDeadline):
					found[n.Pos()] = "bounds a time that depends on the machine"
				}
			}
			return true
		})
	}
	within(body, false, true)
	return found
}

// assigned notes variables for measured times and for listeners on a port that is chosen.
func (w *waitFinder) assigned(a *ast.AssignStmt) {
	call, ok := a.Rhs[0].(*ast.CallExpr)
	if !ok {
		return
	}
	switch name := nameOf(call.Fun); {
	case name == "time.Since" && nameOf(a.Lhs[0]) != "":
		w.measured[nameOf(a.Lhs[0])] = true
	case strings.HasPrefix(name, "net.Listen") && len(call.Args) == 2:
		if l, ok := call.Args[1].(*ast.BasicLit); ok && strings.HasSuffix(l.Value, `:0"`) {
			w.listeners[nameOf(a.Lhs[0])] = true
		}
	case name == "httptest.NewServer", name == "httptest.NewTLSServer":
		w.listeners[nameOf(a.Lhs[0])] = true
	}
}

func (w *waitFinder) isMeasured(name string) bool { return name == "time.Since" || w.measured[name] }

func isMinute(name string) bool { return name == "time.Minute" }

func isDeadline(name string) bool { return strings.HasSuffix(strings.ToLower(name), "deadline") }

// mentions reports whether an expression contains a name.
func mentions(e ast.Expr, is func(name string) bool) (does bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			does = does || is(nameOf(e))
		}
		return true
	})
	return does
}

// nameOf returns the source of a chain of names, such as p.output.String, or "".
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return nameOf(e.X) + "." + e.Sel.Name
	}
	return ""
}

var (
	sleepsInScenario = regexp.MustCompile(`\bwaitForTimeout\(|\bsetTimeout\(.*, *[1-9]\d*\)`)
	// An action may replace a part of the page, or the page.
	acts = regexp.MustCompile(`\.(click|dblclick|press|fill|type|pressSequentially|check|uncheck|selectOption|setInputFiles)\([^()]*(\([^()]*\)[^()]*)*\);?( //.*)?$`)
	// These reads return what is there at the moment.
	readsAtOnce = regexp.MustCompile(`await .*\.(count|isVisible|isChecked|isEnabled|allInnerTexts|allTextContents|evaluate|evaluateAll)\(|\.url\(\)`)
	waits       = regexp.MustCompile(`\beventually\(|waitFor`)
)

func findWaitsInScenario(file, text string) (found []string) {
	acted := false
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		switch {
		case sleepsInScenario.MatchString(line):
			found = append(found, fmt.Sprintf("%s:%d: sleeps: wait for a condition", file, i+1))
		case acted && readsAtOnce.MatchString(line) && !waits.MatchString(line):
			found = append(found, fmt.Sprintf("%s:%d: reads once after an action: wait, or use eventually\n\t%s", file, i+1, line))
		}
		acted = acts.MatchString(line)
	}
	return found
}
