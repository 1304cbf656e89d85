package metrics

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// readTimeout bounds what a scrape may ask of a database.
const readTimeout = 2 * time.Second

// Gauge is a family of values that are read when somebody looks.
type Gauge struct {
	// Name and Help are the metric's; Label is the name of its one label, or "".
	Name, Help, Label string
	// Counts is true for values that only grow while the process runs.
	Counts bool
	// Read returns the values by the label's value; without a label, the one
	// under "". A family that cannot be read is left out of the scrape.
	Read func(context.Context) (map[string]float64, error)
}

// Gauges adds families of values.
func (o *Observer) Gauges(all ...Gauge) {
	for _, g := range all {
		var labels []string
		if g.Label != "" {
			labels = []string{g.Label}
		}
		o.registry.MustRegister(gauges{g, prometheus.NewDesc(g.Name, g.Help, labels, nil), o.log})
	}
}

type gauges struct {
	Gauge
	desc *prometheus.Desc
	log  *slog.Logger
}

// Describe implements prometheus.Collector.
func (g gauges) Describe(out chan<- *prometheus.Desc) { out <- g.desc }

// Collect implements prometheus.Collector.
func (g gauges) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	values, err := g.Read(ctx)
	if err != nil {
		g.log.Warn("metric cannot be read", "name", g.Name, "error", err)
		return
	}
	kind := prometheus.GaugeValue
	if g.Counts {
		kind = prometheus.CounterValue
	}
	for label, value := range values {
		var labels []string
		if g.Label != "" {
			labels = []string{label}
		}
		out <- prometheus.MustNewConstMetric(g.desc, kind, value, labels...)
	}
}
