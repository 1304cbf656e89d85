// Command size prints how large a program is, and how much of it is the code of each
// module. It fails if the program is larger than its limit, or a module than its budget, so
// that a heavy dependency is noticed when it is added.
//
// It counts the machine code of functions, which also a program without symbols lists. The
// tables, types and data that belong to it are about as much again, and are in the size of
// the program only.
package main

import (
	"cmp"
	"debug/buildinfo"
	"debug/elf"
	"debug/gosym"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// budgets are the limits of modules, in bytes of code. Raise one only with a reason: each
// byte is in every binary, and is compiled in every first build.
var budgets = map[string]int{
	"modernc.org/sqlite":             2_200_000,
	"github.com/tetratelabs/wazero":  1_300_000,
	"github.com/yuin/goldmark":       350_000,
	"golang.org/x/crypto":            300_000,
	"github.com/vektah/gqlparser/v2": 300_000,
	"github.com/antlr4-go/antlr/v4":  250_000,
	"github.com/alecthomas/kong":     250_000,
}

// small is the budget of each other module.
const small = 200_000

func main() {
	limit := flag.Int64("limit", 0, "the limit of the program, in bytes")
	flag.Parse()
	if err := check(os.Stdout, flag.Arg(0), *limit); err != nil {
		fmt.Println("FAIL:", err)
		os.Exit(1)
	}
}

// check prints the sizes of a program, and returns an error about the first that is too
// large.
func check(out io.Writer, path string, limit int64) error {
	program, err := os.Stat(path)
	if err != nil {
		return err
	}
	modules, total, err := code(path)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "%s: %d bytes, limit %d; %d bytes are code, of these:\n", path, program.Size(), limit, total)
	names := slices.SortedFunc(maps.Keys(modules), func(a, b string) int {
		return cmp.Or(cmp.Compare(modules[b], modules[a]), cmp.Compare(a, b))
	})
	if program.Size() > limit {
		err = fmt.Errorf("%s is too large; the change of the code of a module shows why", path)
	}
	for _, name := range names {
		budget, listed := budgets[name]
		if !listed {
			budget = small
		}
		over := modules[name] > budget && name != own && name != standard
		if over && err == nil {
			err = fmt.Errorf("%s has more code than its budget in wasm/size/main.go; use less of it, write what is used in place of it, or raise the budget", name)
		}
		switch {
		case name == own || name == standard:
			_, _ = fmt.Fprintf(out, "%9d  %s\n", modules[name], name)
		case listed || over:
			_, _ = fmt.Fprintf(out, "%9d  %s, budget %d\n", modules[name], name, budget)
		}
	}
	return err
}

// The names of what is in no module of others.
const (
	own      = "kith"
	standard = "the standard library"
)

// code returns how many bytes of machine code each module has in a program, and all of
// them.
func code(path string) (modules map[string]int, total int, err error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	program, err := elf.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer program.Close()
	text, lines := program.Section(".text"), program.Section(".gopclntab")
	if text == nil || lines == nil {
		return nil, 0, fmt.Errorf("%s is no program of Go", path)
	}
	data, err := lines.Data()
	if err != nil {
		return nil, 0, err
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return nil, 0, err
	}
	modules = map[string]int{}
	for i := range table.Funcs {
		f := &table.Funcs[i]
		name := standard
		// The name of a method of a generic type has the types in brackets.
		full, _, _ := strings.Cut(f.Name, "[")
		for _, m := range append(info.Deps, &info.Main) {
			if strings.HasPrefix(full, m.Path) && strings.ContainsAny(full[len(m.Path):min(len(full), len(m.Path)+1)], "/.") && (name == standard || len(m.Path) > len(name)) {
				name = m.Path
			}
		}
		modules[name] += int(f.End - f.Entry)
		total += int(f.End - f.Entry)
	}
	return modules, total, nil
}
