package main

import (
	"os"
	"runtime"
	"strings"
	"sync"
)

// spareProcessor lets one goroutine more run at a time, in a process that serves
// from a database file: whoever waits for a flush of the disk is taken for one that
// runs, by Go's scheduler and for up to ten milliseconds. On two processors the
// component took in a fifth more event calls with it. GOMAXPROCS in the environment
// has the last word.
func spareProcessor(database string) {
	if strings.HasPrefix(database, "file:") && os.Getenv("GOMAXPROCS") == "" {
		spareOnce()
	}
}

var spareOnce = sync.OnceFunc(func() { runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1) })
