package worker_test

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
	"kith/backend/testenv"
)

// BenchmarkWebhooks delivers events to endpoints on this machine: to one endpoint,
// which gets 8 requests at a time, and to eight. For comparison, posts-alone sends plain
// posts of the same size, 8 at a time: the difference is the cost of leases, records
// and signatures.
func BenchmarkWebhooks(b *testing.B) {
	b.Run("posts-alone", benchmarkPosts)
	for name, url := range map[string]func(testing.TB) string{
		"file":   func(t testing.TB) string { return "file:" + t.TempDir() + "/kith.db" },
		"server": func(t testing.TB) string { return sqldtest.Start(t).PrimaryURL() },
	} {
		b.Run(name+"/one-endpoint", func(b *testing.B) { benchmarkWebhooks(b, url(b), 1) })
		b.Run(name+"/eight-endpoints", func(b *testing.B) { benchmarkWebhooks(b, url(b), 8) })
	}
}

// BenchmarkTarget_Webhooks delivers events to one endpoint, beside plain posts.
func BenchmarkTarget_Webhooks(b *testing.B) {
	for range testenv.BenchRuns(b) {
		b.Run("posts", benchmarkPosts)
		b.Run("kith", func(b *testing.B) { benchmarkWebhooks(b, "file:"+b.TempDir()+"/kith.db", 1) })
	}
}

func benchmarkWebhooks(b *testing.B, url string, endpoints int) {
	h := openHooks(b, url)
	var got atomic.Int64
	all := make(chan struct{})
	var to []string
	for range endpoints {
		to = append(to, h.endpoint(b, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if got.Add(1) == int64(b.N) {
				close(all)
			}
		}))
	}
	for i := range b.N {
		_, err := h.Webhooks.Test(b.Context(), tenant, to[i%endpoints])
		require.NoError(b, err)
	}
	b.ResetTimer()
	begin := time.Now()
	stop := h.work(b)
	<-all
	stop() // everything is recorded
	b.ReportMetric(float64(b.N)/time.Since(begin).Seconds(), "deliveries/s")
}

func benchmarkPosts(b *testing.B) {
	h := openHooks(b, "file:"+b.TempDir()+"/kith.db")
	url := h.endpoint(b, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	body := bytes.Repeat([]byte("x"), 250)
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var senders sync.WaitGroup
	for range 8 {
		senders.Go(func() {
			for left.Add(-1) >= 0 {
				response, err := client.Post(url, "application/json", bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				response.Body.Close()
			}
		})
	}
	senders.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
}
