package metrics

import (
	"context"
	"maps"
	"slices"
	"time"
)

// readTimeout bounds the database queries of a scrape.
const readTimeout = 2 * time.Second

// Gauge is a family of values that are read at each scrape.
type Gauge struct {
	// Name and Help are those of the metric. Label is the name of its only label, or "".
	Name, Help, Label string
	// Counts is true for a counter: its values only grow while the process runs.
	Counts bool
	// Read returns the values by label value; without a label, the key is "". If Read
	// fails, the family is left out of the scrape.
	Read func(context.Context) (map[string]float64, error)
}

// Gauges adds families of values.
func (o *Observer) Gauges(all ...Gauge) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, g := range all {
		kind := gauge
		if g.Counts {
			kind = counter
		}
		o.families = append(o.families, family{g.Name, g.Help, kind, func(ctx context.Context, out *text) {
			values, err := g.Read(ctx)
			if err != nil {
				o.log.Warn("read metric", "name", g.Name, "error", err)
				return
			}
			for _, label := range slices.Sorted(maps.Keys(values)) {
				if g.Label == "" {
					out.sample("", values[label])
				} else {
					out.sample("", values[label], g.Label, label)
				}
			}
		}})
	}
}
