package api

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecovering(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	server := httptest.NewServer(recovering(slog.New(slog.NewTextHandler(&log, nil)), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/begun" {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("[1,"))
		}
		_ = r.URL.Path[len(r.URL.Path)+1:]
	})))
	t.Cleanup(server.Close)
	get := func(path, accept string) (*http.Response, string, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		require.NoError(t, err)
		req.Header.Set("Accept", accept)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, "", err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		return res, string(body), err
	}

	res, body, err := get("/", "*/*")
	require.NoError(t, err)
	require.Equal(t, http.StatusInternalServerError, res.StatusCode)
	require.JSONEq(t, `{"message":"something went wrong on our side; it has been logged","statusCode":500,"apiErrorCode":"INTERNAL"}`, body)

	res, body, err = get("/", "text/html")
	require.NoError(t, err)
	require.Equal(t, http.StatusInternalServerError, res.StatusCode)
	require.Contains(t, body, "<html")

	_, _, err = get("/begun", "*/*")
	require.Error(t, err, "an answer that has begun is cut")
	server.Close()
	require.Contains(t, log.String(), "slice bounds out of range")
	require.Contains(t, log.String(), "fault_test.go", "where")
}
