package e2e

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/testenv"
)

// constantEnv is the variable with the orders of the process that gives one answer.
const constantEnv = "KITH_TEST_CONSTANT"

// constantOrders are an address and the answer to each request there.
type constantOrders struct {
	Addr   string
	Status int
	Header http.Header
	Body   string
	// Insert is a database file, of which the table baseline gets the body of each request
	// that has one, before the answer; empty for none.
	Insert string
}

// constant starts net/http in a process of its own, which answers each request with the
// status, the header fields and the body of a: the least that a server written in Go does.
// For insert see constantOrders.
func constant(b *testing.B, a answer, insert string) (p *process, base string) {
	b.Helper()
	header := a.header.Clone()
	for _, name := range []string{"Date", "Content-Length"} { // net/http writes them
		header.Del(name)
	}
	addr := freeAddr(b)
	orders, err := json.Marshal(constantOrders{Addr: addr, Status: a.status, Header: header, Body: a.body, Insert: insert})
	require.NoError(b, err)
	self, err := os.Executable()
	require.NoError(b, err)
	p = &process{output: &testenv.Log{}, command: exec.Command(self)}
	p.command.Env = append(os.Environ(), constantEnv+"="+string(orders))
	p.command.Stdout, p.command.Stderr = p.output, p.output
	require.NoError(b, p.command.Start())
	b.Cleanup(p.kill)
	await(b, func() error {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	got := mustCall(b, a.status, "GET", "http://"+addr+"/", "")
	for _, of := range []http.Header{got.header, a.header} {
		of.Del("Date")
	}
	require.Equal(b, a.header, got.header)
	require.Equal(b, a.body, got.body)
	return p, "http://" + addr
}

// serveConstant serves until it is killed.
func serveConstant(text string) error {
	var orders constantOrders
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&orders); err != nil {
		return err
	}
	body := []byte(orders.Body)
	insert := func([]byte) error { return nil }
	if orders.Insert != "" {
		var err error
		if insert, err = newInserter(orders.Insert); err != nil {
			return err
		}
	}
	return http.ListenAndServe(orders.Addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // #nosec G114 -- a baseline without limits
		given, err := io.ReadAll(r.Body)
		if err == nil && len(given) > 0 {
			err = insert(given)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		header := w.Header()
		for name, values := range orders.Header {
			header[name] = values
		}
		w.WriteHeader(orders.Status)
		_, _ = w.Write(body)
	}))
}
