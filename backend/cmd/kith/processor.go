package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// addProcessor lets one goroutine more run at a time, in a process whose component
// serves from a database file: whoever waits for a flush of the disk is taken for
// one that runs, by Go's scheduler and for up to ten milliseconds. On two processors
// the component took in a fifth more event calls with it. A backend alone goes
// without: its identifications were a twentieth slower, and its imports, in which
// one goroutine has more to do than all others, a fifth faster. GOMAXPROCS in the
// environment has the last word.
func addProcessor(database string) {
	if strings.HasPrefix(database, "file:") && os.Getenv("GOMAXPROCS") == "" {
		addProcessorOnce()
	}
}

var addProcessorOnce = sync.OnceFunc(func() { runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1) })

// memoryLimit is how much memory Go may take before it collects garbage however little
// there is. Without it garbage may be as much as what is in use, and under attack both
// grow.
const memoryLimit = 200 << 20

// limitMemory sets memoryLimit for each of the parts that a process is. GOMEMLIMIT in
// the environment has the last word.
func limitMemory(parts int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(parts * memoryLimit)
	}
}
