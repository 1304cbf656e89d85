// Command kith is the whole service in one binary: the backend, the edge under
// wazero, and the tools for operators.
package main

import (
	"os"
	"runtime/debug"

	// For machines and containers that have no list of certificate authorities or of
	// time zones. The files of the system are used where they exist.
	_ "time/tzdata"

	_ "golang.org/x/crypto/x509roots/fallback"
)

// version is set by the linker.
var version = "unknown"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// memoryLimit is the memory, in bytes, at which Go collects garbage more often. Without
// it there may be as much garbage as live memory, and under attack both grow.
const memoryLimit = 200 << 20

// limitMemory sets the memory limit of a process that runs this many parts, such as edge
// and backend. GOMEMLIMIT in the environment overrides it.
func limitMemory(parts int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(parts * memoryLimit)
	}
}
