package metrics

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
		g.log.Warn("read metric", "name", g.Name, "error", err)
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
