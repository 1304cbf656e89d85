package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// The kinds of calls. Links, look-ups and events are those that an edge answers without a
// backend.
const (
	linkCall = iota
	lookUpCall
	eventCall
	identifyCall
)

var callKinds = [...]string{"links", "look-ups", "events", "identifications"}

const (
	// cycle is the order of the kinds, so that the calls of a kind come at equal intervals.
	cycle = "lenlenilen"
	// eventsPerCall is how many events a call has: they are stored together or not at all.
	eventsPerCall = 2
	// keyless is one of how many event calls has no idempotency key. A repeated write
	// would store its events twice.
	keyless = 5
	// callTimeout bounds how long a caller waits for an answer.
	callTimeout = 20 * time.Second
	// again is when a caller repeats an event call that was not answered, or answered with
	// 503, through the other edge.
	again = time.Second
)

// faultCall is a call of the load, and its answer.
type faultCall struct {
	kind, edge int
	// id is the key of the events, or the id of the identified user.
	id string
	// repeated is set if the same call was sent before.
	repeated       bool
	sent, answered time.Time
	status         int // 0: none
	// problem is why there was no answer, or the answer if its status was unexpected.
	problem string
}

// ok reports whether the call was answered as it should be.
func (c faultCall) ok() bool {
	switch {
	case c.kind == linkCall:
		return c.status == http.StatusFound
	case c.kind == eventCall && c.repeated && c.status == http.StatusConflict:
		return true
	}
	return c.status == http.StatusOK
}

// expected reports whether the status is one that the call may get while parts are away.
func (c faultCall) expected() bool {
	return c.ok() || c.status == 0 || c.status == http.StatusServiceUnavailable
}

func (c faultCall) took() time.Duration { return c.answered.Sub(c.sent) }

// faultLoad is a constant load on both edges: calls are sent at their times, whether or not
// earlier ones have been answered.
type faultLoad struct {
	f      *faultFleet
	client *http.Client
	end    chan struct{}
	all    sync.WaitGroup

	mu    sync.Mutex
	calls []faultCall
	// control has the times of the answers of a server that needs no part of the fleet.
	control []time.Time
	// stall is the longest time by which the load itself was late.
	stall time.Duration
}

func (f *faultFleet) newLoad() *faultLoad {
	return &faultLoad{f: f, end: make(chan struct{}), client: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 1000, DisableCompression: true},
		Timeout:       callTimeout,
		CheckRedirect: noRedirect.CheckRedirect,
	}}
}

// start starts the load.
func (l *faultLoad) start() {
	l.f.began = time.Now()
	l.all.Go(func() {
		every := time.Second / time.Duration(*soakRate)
		for i := 0; ; i++ {
			due := l.f.began.Add(time.Duration(i) * every)
			time.Sleep(time.Until(due))
			select {
			case <-l.end:
				return
			default:
			}
			if late := time.Since(due); late > l.stall {
				l.stall = late
			}
			c := faultCall{edge: i % 2, kind: strings.IndexByte("leni", cycle[i/2%len(cycle)]), id: fmt.Sprintf("c%d", i)}
			if c.kind == eventCall && i%keyless == 0 {
				c.id = fmt.Sprintf("keyless%d", i)
			}
			l.all.Go(func() { l.send(c) })
			if i%controlEvery == 0 {
				l.all.Go(l.askControl)
			}
		}
	})
}

// controlEvery is for how many calls of the load there is one to the control server: about
// as many as links through one edge.
const controlEvery = 6

// askControl calls the control server.
func (l *faultLoad) askControl() {
	if status, _, err := l.do("GET", l.f.control, "", false); err == nil && status == http.StatusOK {
		l.mu.Lock()
		l.control = append(l.control, time.Now())
		l.mu.Unlock()
	}
}

// controlEnv is the variable with the address of the control server.
const controlEnv = "KITH_TEST_CONTROL"

// serveControl answers each request at once.
func serveControl(addr string) error {
	return http.ListenAndServe(addr, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})) // #nosec G114 -- in a test
}

// stop stops the load, and returns when each call was answered or given up.
func (l *faultLoad) stop() {
	close(l.end)
	l.all.Wait()
	l.client.CloseIdleConnections()
}

func keyed(id string) bool { return !strings.HasPrefix(id, "keyless") }

func (l *faultLoad) send(c faultCall) {
	c = l.call(c)
	if c.kind != eventCall || !keyed(c.id) || c.status != 0 && c.status != http.StatusServiceUnavailable {
		return
	}
	select {
	case <-l.end:
	case <-time.After(again):
		c.edge, c.repeated = 1-c.edge, true
		l.call(c)
	}
}

func (l *faultLoad) call(c faultCall) faultCall {
	s := l.f.nodes[c.edge]
	api := s.edge + "/api/v1/" + l.f.tenant
	method, url, body := "GET", s.edge+"/s/"+l.f.tenant+"/ANNA10", ""
	switch c.kind {
	case lookUpCall:
		url = api + "/code/ANNA10"
	case eventCall:
		event := `{"key":"` + c.id + `"}`
		method, url, body = "POST", api+"/open/account/anna/user/anna/events", strings.Repeat(","+event, eventsPerCall)[1:]
		body = `"events":[` + body + `]}`
		if keyed(c.id) {
			body = `"idempotencyKey":"key-` + c.id + `-x",` + body
		}
		body = "{" + body
	case identifyCall:
		method, url, body = "PUT", api+"/open/account/"+c.id+"/user/"+c.id, `{"referredByCodes":["ANNA10"],"account_status":"PAID"}`
	}
	c.sent, c.problem = time.Now(), ""
	var text string
	var err error
	c.status, text, err = l.do(method, url, body, c.kind == linkCall)
	c.answered = time.Now()
	switch {
	case err != nil:
		c.status = 0
		if c.problem = err.Error(); strings.Contains(c.problem, "->") {
			c.problem = "connection" + c.problem[strings.LastIndex(c.problem, ":"):]
		}
	case !c.expected():
		c.problem = fmt.Sprint(c.status, " ", text)
	}
	l.mu.Lock()
	l.calls = append(l.calls, c)
	l.mu.Unlock()
	return c
}

// do sends a request and returns the answer.
func (l *faultLoad) do(method, url, body string, browser bool) (status int, text string, err error) {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	headers := []string{l.f.auth(), "Content-Type: application/json"}
	if browser {
		headers = visitor
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Set(name, value)
	}
	response, err := l.client.Do(request)
	if err != nil {
		return 0, "", errors.Unwrap(err) // without the URL
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	return response.StatusCode, string(all), err
}
