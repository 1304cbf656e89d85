package main

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
)

// ports are the ports of all processes, on the loopback interface.
type ports struct {
	// primary are its ports for clients, for replicas, and for its administration.
	primary                   []int
	replicas, edges, backends []int
	// ops are the ports for metrics and health, those of the backends first.
	ops []int
}

// defaultPorts returns ports of which the first edge and the first backend have those of
// `kith dev`.
func defaultPorts() ports {
	return ports{
		primary: []int{8100, 8101, 8104}, replicas: []int{8102, 8103},
		edges: []int{3000, 3001}, backends: []int{8080, 8081}, ops: []int{9100, 9101, 9102, 9103},
	}
}

// flags adds a flag for each kind of process.
func (p *ports) flags(set *flag.FlagSet) {
	for _, f := range []struct {
		name, usage string
		to          []int
	}{
		{"primary", "`ports` of the primary: for clients, for replicas, for its administration", p.primary},
		{"replicas", "`ports` of the replicas", p.replicas},
		{"edges", "`ports` of the edges", p.edges},
		{"backends", "`ports` of the backends", p.backends},
		{"ops", "`ports` for metrics and health: of the backends, then of the edges", p.ops},
	} {
		set.Func(f.name, fmt.Sprintf("%s (default %s)", f.usage, join(f.to)), func(text string) error { return parsePorts(text, f.to) })
	}
}

func join(ports []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ports), " ", ","), "[]")
}

// parsePorts reads as many ports as there are in to.
func parsePorts(text string, to []int) error {
	words := strings.Split(text, ",")
	if len(words) != len(to) {
		return fmt.Errorf("not %d ports with commas between them; give %s", len(to), join(to))
	}
	for i, word := range words {
		port, err := strconv.ParseUint(word, 10, 16)
		if err != nil || port == 0 {
			return fmt.Errorf("%q is not a port; give a number from 1 to 65535", word)
		}
		to[i] = int(port)
	}
	return nil
}

func addr(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// primaryURL returns the URL of the primary. Its name has no dot: the server takes the
// first word of a name with a dot for that of a database.
func (p ports) primaryURL() string { return fmt.Sprintf("ws://localhost:%d", p.primary[0]) }
