package metrics

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ofRuntime are the families whose value is a sum of values of the Go runtime (package
// runtime/metrics). Their names, and those of the other families of this file, are those of
// Prometheus' own client, which dashboards of others know.
var ofRuntime = []struct {
	name, kind string
	sources    []string
}{
	{"go_gc_gogc_percent", gauge, []string{"/gc/gogc:percent"}},
	{"go_gc_gomemlimit_bytes", gauge, []string{"/gc/gomemlimit:bytes"}},
	{"go_goroutines", gauge, []string{"/sched/goroutines:goroutines"}},
	{"go_sched_gomaxprocs_threads", gauge, []string{"/sched/gomaxprocs:threads"}},
	{"go_memstats_alloc_bytes", gauge, []string{"/memory/classes/heap/objects:bytes"}},
	{"go_memstats_alloc_bytes_total", counter, []string{"/gc/heap/allocs:bytes"}},
	{"go_memstats_buck_hash_sys_bytes", gauge, []string{"/memory/classes/profiling/buckets:bytes"}},
	{"go_memstats_frees_total", counter, []string{"/gc/heap/frees:objects", "/gc/heap/tiny/allocs:objects"}},
	{"go_memstats_gc_sys_bytes", gauge, []string{"/memory/classes/metadata/other:bytes"}},
	{"go_memstats_heap_alloc_bytes", gauge, []string{"/memory/classes/heap/objects:bytes"}},
	{"go_memstats_heap_idle_bytes", gauge, []string{"/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes"}},
	{"go_memstats_heap_inuse_bytes", gauge, []string{"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes"}},
	{"go_memstats_heap_objects", gauge, []string{"/gc/heap/objects:objects"}},
	{"go_memstats_heap_released_bytes", gauge, []string{"/memory/classes/heap/released:bytes"}},
	{"go_memstats_heap_sys_bytes", gauge, []string{"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes", "/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes"}},
	{"go_memstats_mallocs_total", counter, []string{"/gc/heap/allocs:objects", "/gc/heap/tiny/allocs:objects"}},
	{"go_memstats_mcache_inuse_bytes", gauge, []string{"/memory/classes/metadata/mcache/inuse:bytes"}},
	{"go_memstats_mcache_sys_bytes", gauge, []string{"/memory/classes/metadata/mcache/inuse:bytes", "/memory/classes/metadata/mcache/free:bytes"}},
	{"go_memstats_mspan_inuse_bytes", gauge, []string{"/memory/classes/metadata/mspan/inuse:bytes"}},
	{"go_memstats_mspan_sys_bytes", gauge, []string{"/memory/classes/metadata/mspan/inuse:bytes", "/memory/classes/metadata/mspan/free:bytes"}},
	{"go_memstats_next_gc_bytes", gauge, []string{"/gc/heap/goal:bytes"}},
	{"go_memstats_other_sys_bytes", gauge, []string{"/memory/classes/other:bytes"}},
	{"go_memstats_stack_inuse_bytes", gauge, []string{"/memory/classes/heap/stacks:bytes"}},
	{"go_memstats_stack_sys_bytes", gauge, []string{"/memory/classes/heap/stacks:bytes", "/memory/classes/os-stacks:bytes"}},
	{"go_memstats_sys_bytes", gauge, []string{"/memory/classes/total:bytes"}},
}

// process returns the families about the process and its runtime. A value that the system
// does not have is left out.
func process() []family {
	all := []family{
		{"go_gc_duration_seconds", "Pauses of garbage collections.", summary, writePauses},
		{"go_info", "The version of Go.", gauge, func(_ context.Context, out *text) { out.sample("", 1, "version", runtime.Version()) }},
	}
	add := func(name, help, kind string, read func() (float64, error)) {
		all = append(all, family{name, help, kind, func(_ context.Context, out *text) {
			if value, err := read(); err == nil {
				out.sample("", value)
			}
		}})
	}
	for _, m := range ofRuntime {
		add(m.name, "The sum of "+strings.Join(m.sources, " and ")+" of Go's runtime/metrics.", m.kind, func() (float64, error) { return sumOf(m.sources), nil })
	}
	add("go_memstats_last_gc_time_seconds", "The time of the last garbage collection, in seconds since 1970.", gauge, func() (float64, error) {
		var stats debug.GCStats
		debug.ReadGCStats(&stats)
		return float64(stats.LastGC.UnixNano()) / 1e9, nil
	})
	add("go_threads", "Threads of the operating system that were created.", gauge, func() (float64, error) {
		n, _ := runtime.ThreadCreateProfile(nil)
		return float64(n), nil
	})
	add("process_cpu_seconds_total", "Processor time of the process.", counter, func() (float64, error) {
		user, err := stat(13)
		system, _ := stat(14)
		return (user + system) / ticks, err
	})
	add("process_virtual_memory_bytes", "Virtual memory.", gauge, func() (float64, error) { return stat(22) })
	add("process_resident_memory_bytes", "Resident memory.", gauge, func() (float64, error) {
		pages, err := stat(23)
		return pages * float64(os.Getpagesize()), err
	})
	add("process_start_time_seconds", "The start of the process, in seconds since 1970.", gauge, func() (float64, error) {
		boot, err := named("/proc/stat", "btime")
		if err != nil {
			return 0, err
		}
		after, err := stat(21)
		return boot + after/ticks, err
	})
	add("process_open_fds", "Open file descriptors.", gauge, func() (float64, error) {
		open, err := os.ReadDir("/proc/self/fd")
		return float64(len(open)), err
	})
	add("process_max_fds", "File descriptors that may be open.", gauge, limitOf(syscall.RLIMIT_NOFILE))
	add("process_virtual_memory_max_bytes", "Virtual memory that is allowed.", gauge, limitOf(syscall.RLIMIT_AS))
	return all
}

func writePauses(_ context.Context, out *text) {
	stats := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
	debug.ReadGCStats(&stats)
	for i, pause := range stats.PauseQuantiles {
		out.sample("", pause.Seconds(), "quantile", number(float64(i)/4))
	}
	out.sample("_sum", stats.PauseTotal.Seconds())
	out.sample("_count", float64(stats.NumGC))
}

// sumOf returns the sum of values of the runtime.
func sumOf(sources []string) (sum float64) {
	samples := make([]metrics.Sample, len(sources))
	for i, name := range sources {
		samples[i].Name = name
	}
	metrics.Read(samples)
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			sum += float64(s.Value.Uint64())
		}
	}
	return sum
}

// ticks is how many clock ticks Linux counts in a second for programs, on each processor.
const ticks = 100

// stat returns a field of /proc/self/stat, counted from 0 (proc_pid_stat(5) counts from 1).
func stat(field int) (float64, error) {
	line, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, err
	}
	// The second field is the name of the program in parentheses, and may have spaces.
	fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	if len(fields) <= field-2 {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(fields[field-2], 64)
}

// named returns the number behind a name that begins a line of a file.
func named(path, name string) (float64, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(content), "\n"+name+" ")
	value, _, _ := strings.Cut(after, "\n")
	return strconv.ParseFloat(value, 64)
}

func limitOf(resource int) func() (float64, error) {
	return func() (float64, error) {
		var limit syscall.Rlimit
		err := syscall.Getrlimit(resource, &limit)
		return float64(limit.Cur), err
	}
}
