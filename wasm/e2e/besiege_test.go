package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// besieger attacks an edge and a backend. It runs in a separate process with a lower
// priority, so that it does not take processor time from the servers.
type besieger struct {
	orders siegeOrders
	next   atomic.Int64

	mu sync.Mutex
	// became counts the results of attacks, by kind and answer.
	became map[string]int
}

// besiege attacks until the process is interrupted, then prints the results.
func besiege(orders string) error {
	b := &besieger{became: map[string]int{}}
	if err := json.Unmarshal([]byte(orders), &b.orders); err != nil {
		return err
	}
	for i := range siegeSlow {
		// Not all at once, every second.
		time.AfterFunc(time.Duration(i)*time.Second/siegeSlow, func() { b.slow(b.orders.Edge, i) })
		time.AfterFunc(time.Duration(i)*time.Second/siegeSlow, func() { b.slow(b.orders.Backend, i) })
	}
	for i := range siegeBombs {
		go b.bombs(i)
	}
	for i := range siegeSignIns {
		go b.signIns(i)
	}
	go b.guesses()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	<-stop
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, what := range slices.Sorted(maps.Keys(b.became)) {
		fmt.Printf("%s: %d; ", what, b.became[what])
	}
	return nil
}

func (b *besieger) note(what string, status int, err error) {
	if err != nil {
		what += " broken off"
	} else {
		what += " " + strconv.Itoa(status)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.became[what]++
}

// slow is a client that sends its headers, its body or its acknowledgments slowly, and
// connects again when the server closes the connection.
func (b *besieger) slow(addr string, i int) {
	api := "/api/v1/demo"
	begin := []string{
		"GET /s/demo/ANNA10 HTTP/1.1\r\nHost: h\r\nX-Slow: ",
		"PUT " + api + "/open/account/a/user/a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n{",
		strings.Repeat("GET /api/v1/openapi.json HTTP/1.1\r\nHost: h\r\n\r\n", 100),
	}
	kind := i % len(begin)
	for ; ; time.Sleep(time.Second) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			b.note("slow", 0, err)
			continue
		}
		_, err = io.WriteString(c, begin[kind])
		for err == nil {
			time.Sleep(time.Second)
			_, err = io.WriteString(c, "x")
		}
		b.note([]string{"slow header", "slow body", "slow reader"}[kind], 0, err)
		_ = c.Close()
	}
}

// bombs sends expensive GraphQL calls, one after the other, from its own network.
func (b *besieger) bombs(i int) {
	addr := []string{b.orders.Edge, b.orders.Backend}[i%2]
	l := &line{addr: addr}
	for n := i; ; n++ {
		body := siegeDocuments[n%len(siegeDocuments)]
		status, err := l.send(rawRequest("POST", "/api/v1/demo/graphql", body, from("198.51", i)))
		b.note("bomb", status, err)
		if err != nil || status == 429 {
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// signIns sends wrong passwords, one after the other, from one of siegeNetworks networks.
func (b *besieger) signIns(i int) {
	l := &line{addr: []string{b.orders.Edge, b.orders.Backend}[i%2]}
	for n := i; ; n++ {
		status, err := l.send(rawRequest("POST", "/portal/signin", fmt.Sprintf("email=ann%d@shop.example&password=wrong+password", n),
			"Content-Type: application/x-www-form-urlencoded", "Sec-Fetch-Site: same-origin", from("198.53", i%siegeNetworks)))
		b.note("password", status, err)
		if err != nil || status != 200 {
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// siegeDocuments are the most expensive documents of TestMemory_OfOneCall in
// backend/graphql.
var siegeDocuments = []string{
	query("{" + repeated(20, func(i int) string {
		return fmt.Sprintf("a%d:renderWidget{%s}", i, repeated(15, func(j int) string { return fmt.Sprintf("t%d:template ", j) }))
	}) + "}"),
	query("{" + repeated(700, func(i int) string { return fmt.Sprintf("a:identityFunction(value:%d)", i) }) + "}"),
	query("{" + repeated(300, func(i int) string { return fmt.Sprintf("%s%d:identityFunction ", strings.Repeat("x", 60), i) }) + "}"),
	query("{" + repeated(3900, func(i int) string { return fmt.Sprintf("f%d ", i) }) + "}"),
}

func query(document string) string {
	text, err := json.Marshal(map[string]string{"query": document})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func repeated(n int, part func(i int) string) string {
	var all strings.Builder
	for i := range n {
		all.WriteString(part(i))
	}
	return all.String()
}

// guesses tries codes and keys at a constant rate, from many networks.
func (b *besieger) guesses() {
	const senders = 500
	began := time.Now()
	for range senders {
		go func() {
			edge, backend := &line{addr: b.orders.Edge}, &line{addr: b.orders.Backend}
			for {
				i := int(b.next.Add(1))
				time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / siegeGuesses)))
				what := siegeTries[i%len(siegeTries)]
				l := edge
				if i%4 == 0 {
					l = backend
				}
				path := strings.ReplaceAll(what.path, "*", strconv.Itoa(i))
				status, err := l.send(rawRequest("GET", path, "", append(what.headers, from("198.52", i%siegeNetworks))...))
				b.note(what.name, status, err)
			}
		}()
	}
}

var siegeTries = []struct {
	name, path string
	headers    []string
}{
	{"share link", "/s/demo/NOBODY*", nil},
	{"page", "/shoes?rsCode=NOBODY*", nil},
	{"open code", "/api/v1/demo/open/code/NOBODY*", nil},
	{"key", "/api/v1/demo/code/ANNA10", []string{"Authorization: Basic eDp4"}},
	{"token", "/api/v1/demo/open/account/a/user/a", []string{"Authorization: Bearer eyJhbGciOiJub25lIn0.e30."}},
}
