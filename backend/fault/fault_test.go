package fault

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCatch(t *testing.T) {
	t.Parallel()
	var none []int
	failed := errors.New("failed")
	w := httptest.NewRecorder()
	w.Header().Set("Server", "outer")

	require.NoError(t, Catch(w, func(http.ResponseWriter) error { return nil }))
	require.Equal(t, failed, Catch(w, func(http.ResponseWriter) error { return failed }))
	err := Catch(w, func(w http.ResponseWriter) error {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Server", "inner")
		return errors.New(http.StatusText(none[1]))
	})
	require.EqualError(t, err, "the handler panicked: runtime error: index out of range [1] with length 0")
	require.Equal(t, http.Header{"Server": {"outer"}}, w.Header())
	Abort(err)
	Abort(failed)

	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Error("failed", "error", err)
	require.Contains(t, log.String(), "index out of range")
	require.Contains(t, log.String(), "fault_test.go", "where")
}

// An answer that has begun is cut, also if the handler that failed says so itself.
func TestAbort(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{"a fault": "fault", "closed": http.ErrAbortHandler} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				Abort(Catch(w, func(w http.ResponseWriter) error {
					_, _ = io.WriteString(w, "[1,")
					_ = http.NewResponseController(w).Flush()
					panic(value)
				}))
				_, _ = io.WriteString(w, "another answer")
			}))
			t.Cleanup(server.Close)
			res, err := http.Get(server.URL)
			require.NoError(t, err)
			defer res.Body.Close()
			_, err = io.ReadAll(res.Body)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		})
	}
}
