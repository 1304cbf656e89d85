package main

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"kith/backend/app/visits"
	"kith/backend/libsql"
	"kith/backend/metrics"
	"kith/backend/store/eventdb"
	"kith/backend/worker"
	"kith/core/analytics"
	"kith/core/link"
)

// storeIn returns a function that stores visits on the connection on which the component stores
// events.
func storeIn(database *libsql.Database) func(context.Context, analytics.VisitBatch) error {
	return func(ctx context.Context, b analytics.VisitBatch) error {
		statement, args, err := eventdb.AddVisits(b)
		if err != nil {
			return err
		}
		connection := database.Connect()
		defer connection.Close()
		_, _, err = connection.Query(ctx, []byte(statement), args)
		return err
	}
}

// storeVisits stores what a counter counts until stop is called, which stores the rest.
func storeVisits(e *env, counter *visits.Counter) (stop func()) {
	w := worker.NewVisits(counter, e.log)
	w.Finish = e.stopTimeout / 3 // requests have ended by then
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { w.Run(ctx) })
	return func() {
		cancel()
		done.Wait()
	}
}

// followedHeader is the name of link.FollowedHeader as http.Header has it.
var followedHeader = http.CanonicalHeaderKey(link.FollowedHeader)

// asked is the value of the header that asks the component to report.
var asked = []string{"1"}

// countVisits counts the share links that the component reports to have answered. The
// backend counts those that it answers.
func countVisits(counter *visits.Counter, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header[followedHeader] = asked
		if !strings.HasPrefix(r.URL.Path, "/s/") {
			next.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(&visitWriter{w, counter}, r)
	})
}

// visitWriter removes link.FollowedHeader from a response and counts its value.
type visitWriter struct {
	http.ResponseWriter
	counter *visits.Counter
}

// WriteHeader counts the share link of the header, removes it, and sends the others.
func (v *visitWriter) WriteHeader(status int) {
	if header := v.Header(); len(header[followedHeader]) > 0 {
		if f, ok := link.ParseFollowed(header[followedHeader][0]); ok {
			v.counter.Add(f)
		}
		delete(header, followedHeader)
	}
	v.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (v *visitWriter) Unwrap() http.ResponseWriter { return v.ResponseWriter }

// observeVisits adds the metrics of a counter.
func observeVisits(e *env, counters ...*visits.Counter) {
	e.observer.Gauges(metrics.Gauge{
		Name: "kith_visits_total", Help: "Share links that were followed: counted, counted for their program only because too many differ, and lost.", Label: "outcome", Counts: true,
		Read: func(context.Context) (map[string]float64, error) {
			all := map[string]float64{}
			for _, counter := range counters {
				s := counter.Stats()
				all["counted"] += float64(s.Counted - s.Folded)
				all["folded"] += float64(s.Folded)
				all["lost"] += float64(s.Lost)
			}
			return all, nil
		},
	})
}
