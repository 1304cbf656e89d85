// Command kith is the whole service in one binary: the backend, the edge under
// wazero, and the tools for operators.
package main

import "os"

// version is set by the linker.
var version = "unknown"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }
