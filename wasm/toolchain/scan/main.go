// Command gosec searches packages of the project for weaknesses and prints one finding on
// each line:
//
//	gosec [-exclude G1,G2] DIR...
//
// It has the rules and data flow analyzers of gosec's own command, without the part that
// requests fixes from language models, whose client libraries take two minutes to compile.
// Exit status 1: findings were printed.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"regexp"
	"runtime"
	"strings"

	"github.com/securego/gosec/v2"
	"github.com/securego/gosec/v2/analyzers"
	"github.com/securego/gosec/v2/rules"
)

func main() {
	exclude := flag.String("exclude", "", "rules to leave out, separated by commas")
	flag.Parse()
	found, err := scan(strings.Split(*exclude, ","), flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "gosec:", err)
		os.Exit(2)
	}
	if found > 0 {
		fmt.Printf("findings: %d; fix each, or explain it by a comment on its line: // #nosec RULE -- reason\n", found)
		os.Exit(1)
	}
}

func scan(exclude, patterns []string) (found int, err error) {
	var packages []string
	for _, pattern := range patterns {
		some, err := gosec.PackagePaths(pattern, []*regexp.Regexp{regexp.MustCompile(`node_modules|testdata`)})
		if err != nil {
			return 0, err
		}
		packages = append(packages, some...)
	}
	analyzer := gosec.NewAnalyzer(gosec.NewConfig(), false, false, false, runtime.NumCPU(), log.New(io.Discard, "", 0))
	analyzer.LoadRules(rules.Generate(false, rules.NewRuleFilter(true, exclude...)).RulesInfo())
	analyzer.LoadAnalyzers(analyzers.Generate(false, analyzers.NewAnalyzerFilter(true, exclude...)).AnalyzersInfo())
	if err := analyzer.Process(nil, packages...); err != nil {
		return 0, err
	}
	issues, _, failed := analyzer.Report()
	for file, errs := range failed {
		for _, e := range errs {
			return 0, fmt.Errorf("%s:%d: %s", file, e.Line, e.Err)
		}
	}
	for _, i := range issues {
		fmt.Printf("%s:%s: %s: %s\n", i.File, i.Line, i.RuleID, i.What)
	}
	return len(issues), nil
}
