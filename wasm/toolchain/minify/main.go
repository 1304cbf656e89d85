// Command minify makes a script shorter: stdin to stdout. It links a quarter of
// what the library's own command does, which each first build would compile.
package main

import (
	"fmt"
	"os"

	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/js"
)

func main() {
	if err := js.Minify(minify.New(), os.Stdout, os.Stdin, nil); err != nil {
		fmt.Fprintln(os.Stderr, "minify:", err)
		os.Exit(1)
	}
}
