// Command finish prepares a compiled component for its hosts:
//
//	finish initialized FILE.wasm
//	finish segments FILE.wasm
package main

import (
	"fmt"
	"os"

	"kith/wasm/module"
)

// steps are the steps by name. Between them, wasm-opt removes what is not called any more.
var steps = map[string]func([]module.Section) ([]module.Section, error){"initialized": initialize, "segments": joinSegments}

func main() {
	if len(os.Args) != 3 || steps[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: finish initialized|segments FILE.wasm")
		os.Exit(2)
	}
	if err := run(steps[os.Args[1]], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "finish: %s: %v\n", os.Args[2], err)
		os.Exit(1)
	}
}

func run(step func([]module.Section) ([]module.Section, error), path string) error {
	code, err := os.ReadFile(path) // #nosec G304 G703 -- the file that the caller names
	if err != nil {
		return err
	}
	all, err := module.Divide(code)
	if err == nil {
		all, err = step(all)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path, module.Join(all), 0o644) // #nosec G306 G703 -- a program
}
