package e2e

import (
	"context"
	"crypto/rand"
	"database/sql"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	turso "github.com/tursodatabase/libsql-client-go/libsql"

	"kith/backend/libsql"
	"kith/core"
	"kith/edge/abi"
	"kith/edge/serve"
	"kith/wasm/native"
)

// native serves the component's handlers compiled by the standard Go compiler, on the
// site's file with the host's settings. It is the baseline for the component.
func (s *site) native(b testing.TB) *httptest.Server {
	b.Helper()
	key, err := os.ReadFile(filepath.Join(s.data, "master.key"))
	require.NoError(b, err)
	url := "file:" + s.file()
	log, err := libsql.NewLog(url)
	require.NoError(b, err)
	f := &nativeFile{write: nativePool(b, url, 1), read: nativePool(b, url+"&_pragma=query_only(1)", 4), log: log}
	abi.Native.Execute, abi.Native.Random = f.execute, func(p []byte) { _, _ = rand.Read(p) }
	variables := map[string]string{
		"master_key": strings.TrimSpace(string(key)), "backend_url": s.backend, "max_body_bytes": "8388608", "trusted_proxies": "",
	}
	edge := &serve.Edge{
		Variable: func(name string) (string, error) { return variables[name], nil },
		Now:      func() core.Time { return core.Time(time.Now().UnixMilli()) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serveNative(edge, w, r) }))
	b.Cleanup(server.Close)
	return server
}

func nativePool(b testing.TB, url string, connections int) *sql.DB {
	b.Helper()
	url = strings.Replace(url, "kith.db", "kith.db?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)", 1)
	connector, err := turso.NewConnector(url)
	require.NoError(b, err)
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	b.Cleanup(func() { _ = db.Close() })
	return db
}

// nativeFile is a database file, with its statements prepared.
type nativeFile struct {
	write, read *sql.DB
	log         *libsql.Log
	prepared    sync.Map
}

func (f *nativeFile) execute(statement string, params []abi.Value) (rows abi.Rows, err error) {
	writes := strings.HasPrefix(strings.TrimSpace(statement), "INSERT")
	pool := f.read
	if writes {
		pool = f.write
	}
	known, ok := f.prepared.Load(statement)
	if !ok {
		made, err := pool.PrepareContext(context.Background(), statement)
		if err != nil {
			return rows, err
		}
		known, _ = f.prepared.LoadOrStore(statement, made)
	}
	found, err := known.(*sql.Stmt).Query(native.Args(params)...)
	if err != nil {
		return rows, err
	}
	defer found.Close()
	if rows, err = native.Rows(found); err == nil && writes {
		err = f.log.Wait()
	}
	return rows, err
}

func serveNative(edge *serve.Edge, w http.ResponseWriter, r *http.Request) {
	in := &abi.Request{Method: r.Method, URI: r.RequestURI}
	for name, values := range r.Header {
		for _, value := range values {
			in.Headers = append(in.Headers, abi.Header{Name: strings.ToLower(name), Value: value})
		}
	}
	in.Headers = append(in.Headers, abi.Header{Name: "host", Value: r.Host},
		abi.Header{Name: "spin-full-url", Value: "http://" + r.Host + r.RequestURI}, abi.Header{Name: "spin-client-addr", Value: r.RemoteAddr})
	if r.ContentLength != 0 {
		in.Body, _ = io.ReadAll(r.Body)
	}
	out := edge.Serve(in)
	for _, h := range out.Headers {
		w.Header().Add(h.Name, h.Value)
	}
	w.WriteHeader(out.Status)
	_, _ = w.Write(out.Body)
}
