package braintree_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/gateway/braintree"
)

// script has an answer for each request, in order, and records the request times.
type script struct {
	mu      sync.Mutex
	answers []func() (*http.Response, error)
	times   []time.Time
}

func (s *script) RoundTrip(*http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times = append(s.times, time.Now())
	next := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	return next()
}

func status(code int, headers ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) { return answer(code, transactionXML, headers...), nil }
}

func lost() (*http.Response, error) { return nil, errors.New("connection reset") }

func TestRetry_UntilItSucceeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func() (*http.Response, error){status(500), lost, status(504), status(200)}}
		_, err := client(t, s).Transaction(t.Context(), "t")
		require.NoError(t, err)
		require.Len(t, s.times, 4)
		for i, least := range []time.Duration{250, 500, 1000} {
			gap := s.times[i+1].Sub(s.times[i])
			require.GreaterOrEqual(t, gap, least*time.Millisecond)
			require.Less(t, gap, 3*least*time.Millisecond)
		}
	})
}

// Every attempt has the same key, so a refund can be repeated like any other call.
func TestRetry_RefundWithKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func() (*http.Response, error){
			lost, func() (*http.Response, error) { return answer(422, reasons("", "915233")), nil }, status(201),
		}}
		made, err := client(t, s).Refund(t.Context(), "t1", braintree.Refund{Amount: "5.00", OrderID: "o", Key: "k"})
		require.NoError(t, err)
		require.Equal(t, "t9", made.ID)
		require.Len(t, s.times, 3, "the connection was lost, then the first was still in flight")
	})
}

func TestRetry_Ends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func() (*http.Response, error){status(503)}}
		_, err := client(t, s).Transaction(t.Context(), "t")
		require.Equal(t, &braintree.Error{Action: braintree.Retry, Status: 503}, failure(t, err))
		require.Len(t, s.times, 4)
	})
}

func TestRetry_NotWhenRefused(t *testing.T) {
	t.Parallel()
	for _, code := range []int{400, 401, 403, 404, 426} {
		s := &script{answers: []func() (*http.Response, error){status(code)}}
		_, err := client(t, s).Transaction(t.Context(), "t")
		require.Error(t, err)
		require.Len(t, s.times, 1, code)
	}
}

func TestRetry_EndsWithItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &script{answers: []func() (*http.Response, error){func() (*http.Response, error) { cancel(); return lost() }}}
		_, err := client(t, s).Transaction(ctx, "t")
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, braintree.Retry, failure(t, err).Action)
		require.Len(t, s.times, 1)
	})
}

// When one call is asked for a pause, all calls of the client wait for its end.
func TestRateLimit_AppliesToAllCalls(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]func() string{
		"seconds": func() string { return "20" },
		"a date":  func() string { return time.Now().Add(20 * time.Second).UTC().Format(http.TimeFormat) },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{answers: []func() (*http.Response, error){status(429, "Retry-After", header()), status(200)}}
			gw := client(t, s)
			start := time.Now()
			var callers sync.WaitGroup
			first := func() { _, err := gw.Transaction(t.Context(), "t"); require.NoError(t, err, name) }
			callers.Go(first)
			synctest.Wait()
			for range 8 {
				callers.Go(first)
			}
			callers.Wait()
			require.Len(t, s.times, 10)
			for _, at := range s.times[1:] {
				require.GreaterOrEqual(t, at.Sub(start), 20*time.Second, name)
			}
		})
	}
}

// A pause longer than maxPause is returned to the caller; until it is over, calls fail
// without being sent.
func TestRateLimit_LongPauseIsReturned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func() (*http.Response, error){status(503, "Retry-After", "600"), status(200)}}
		gw := client(t, s)
		_, err := gw.Transaction(t.Context(), "t")
		require.Equal(t, &braintree.Error{Action: braintree.Retry, Status: 503, RetryAfter: 10 * time.Minute}, failure(t, err))
		_, err = gw.Transaction(t.Context(), "t")
		require.Equal(t, braintree.Retry, failure(t, err).Action)
		require.Equal(t, 10*time.Minute, failure(t, err).RetryAfter)
		require.Len(t, s.times, 1)
		time.Sleep(10 * time.Minute)
		_, err = gw.Transaction(t.Context(), "t")
		require.NoError(t, err)
	})
}

func TestRateLimit_WaitEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func() (*http.Response, error){status(429, "Retry-After", "20")}}
		gw := client(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for range 2 {
			_, err := gw.Transaction(ctx, "t")
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		require.Len(t, s.times, 1)
	})
}

// An invalid header means no pause, and a pause is at most 24 hours.
func TestRateLimit_HeaderIsBounded(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-5": 0, "1e9": 0, "Fri, 01 Jan 1999 00:00:00 GMT": 0, "2147483647": 24 * time.Hour, "99999999999999999999": 0,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{answers: []func() (*http.Response, error){status(503, "Retry-After", header)}}
			_, err := client(t, s).Transaction(t.Context(), "t")
			require.Equal(t, want, failure(t, err).RetryAfter, header)
		})
	}
}
