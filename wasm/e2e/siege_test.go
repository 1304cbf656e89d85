package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
	"kith/backend/testenv"
)

var siegeFor = flag.Duration("siege", 3*time.Second, "how long TestSiege lasts on each database; make soak takes 60 s")

const (
	siegeSlow     = 500  // slow clients at each server
	siegeBombs    = 100  // GraphQL calls at a time
	siegeSignIns  = 60   // sign-ins at a time
	siegeGuesses  = 1000 // a second, from siegeNetworks networks
	siegeNetworks = 10
	siegeVisits   = 100 // share links per second that must be answered in time
	siegeP99      = 50 * time.Millisecond
	siegeMemory   = 300 << 20
	// besiegeEnv is the variable with the orders of the attacking process.
	besiegeEnv = "KITH_TEST_BESIEGE"
)

// TestSiege attacks an edge and its backend, on a file and with a libSQL server, with 500
// slow clients each, 100 expensive GraphQL calls and 60 sign-ins at a time and 1,000 guesses
// per second, all at once. Neither process may use more than 300 MB, and 99 of 100 share links must be
// answered within 50 ms. In make test it is short and checks only the memory; make soak
// also checks the times, which depend on the machine.
func TestSiege(t *testing.T) {
	for _, ground := range []struct {
		name string
		lay  func(*testing.T, *site)
	}{
		{"file", func(*testing.T, *site) {}},
		{"server", func(t *testing.T, s *site) {
			c := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1})
			s.backendDatabase, s.edgeDatabase = c.PrimaryURL(), c.Replicas[0].URL()
		}},
	} {
		t.Run(ground.name, func(t *testing.T) {
			s := newSite(t)
			s.env = nil
			ground.lay(t, s)
			s.createTenant(t, "demo", "--landing-url", "https://shop.example/")
			trust := "KITH_TRUSTED_PROXIES=127.0.0.0/8"
			backend := s.serve(t, trust)
			s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
			edge := s.serveEdge(t, trust)
			eventually(t, http.StatusFound, "GET", s.edge+"/s/demo/ANNA10", "")
			s.siege(t, edge, backend)
		})
	}
}

func (s *site) siege(t *testing.T, edge, backend *process) {
	attacker := s.besiege(t)
	time.Sleep(time.Second) // until all attacks have begun
	began, busy := time.Now(), []time.Duration{cpuTime(t, attacker), cpuTime(t, edge), cpuTime(t, backend), cpuTime(t, nil)}
	took, failed := s.visits(t)
	wall := time.Since(began)
	for i, p := range []*process{attacker, edge, backend, nil} {
		busy[i] = cpuTime(t, p) - busy[i]
	}
	share := func(i int) float64 { return 100 * busy[i].Seconds() / wall.Seconds() }
	t.Logf("%d visits: p50 %.1f ms, p99 %.1f ms, longest %.1f ms", len(took), ms(quantile(took, 50)), ms(quantile(took, 99)), ms(took[len(took)-1]))
	t.Logf("of one processor: attackers %.0f %%, edge %.0f %%, backend %.0f %%, visitors %.0f %%", share(0), share(1), share(2), share(3))
	if err := attacker.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, attacker.command.Wait(), attacker.output)
	t.Logf("attacks: %s", attacker.output)
	for name, p := range map[string]*process{"edge": edge, "backend": backend} {
		peak := peakMemory(t, p)
		t.Logf("%s: at most %d MB resident", name, peak>>20)
		require.Less(t, peak, int64(siegeMemory), name)
	}
	if len(failed) > 0 {
		t.Logf("%d visits failed, the first: %v", len(failed), failed[0])
	}
	if *siegeFor >= time.Minute {
		require.Empty(t, failed)
		require.Less(t, quantile(took, 99), siegeP99)
	}
}

// visits follows share links at a constant rate, each on its own connection, and returns
// the sorted times since each was scheduled.
func (s *site) visits(t *testing.T) (took []time.Duration, failed []error) {
	n := int(siegeFor.Seconds() * siegeVisits)
	took, errs := make([]time.Duration, n), make([]error, n)
	var all sync.WaitGroup
	began := time.Now()
	for i := range n {
		due := began.Add(time.Duration(i) * time.Second / siegeVisits)
		time.Sleep(time.Until(due))
		all.Go(func() {
			request := rawRequest("GET", "/s/demo/ANNA10", "", append(visitor, from("203.0", i), "Connection: close")...)
			l := line{addr: strings.TrimPrefix(s.edge, "http://")}
			defer l.close()
			status, err := l.send(request)
			took[i] = time.Since(due)
			if err == nil && status != http.StatusFound {
				err = fmt.Errorf("status %d", status)
			}
			if err != nil {
				errs[i] = fmt.Errorf("visit %d, after %v: %w", i, took[i], err)
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	return took, slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// from returns a header with an address in one of 250 networks.
func from(net string, i int) string {
	return fmt.Sprintf("X-Forwarded-For: %s.%d.%d", net, i%250, i/250%250+1)
}

// besiege starts the attacking process: this test program at a lower priority, so that
// sending the attacks does not take processor time from the servers.
func (s *site) besiege(t *testing.T) *process {
	orders, err := json.Marshal(siegeOrders{Edge: strings.TrimPrefix(s.edge, "http://"), Backend: strings.TrimPrefix(s.backend, "http://")})
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	p := &process{output: &testenv.Log{}, command: exec.Command("nice", "-n", "5", self)}
	p.command.Env = append(os.Environ(), besiegeEnv+"="+string(orders))
	p.command.Stdout, p.command.Stderr = p.output, p.output
	require.NoError(t, p.command.Start())
	t.Cleanup(p.kill)
	return p
}

// cpuTime returns the processor time of a process; nil means this one.
func cpuTime(t testing.TB, p *process) time.Duration {
	name := "self"
	if p != nil {
		name = strconv.Itoa(p.command.Process.Pid)
	}
	text, err := os.ReadFile(filepath.Join("/proc", name, "stat"))
	require.NoError(t, err)
	// The name of the program, in parentheses, may have spaces.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// siegeOrders say whom to attack: addresses.
type siegeOrders struct{ Edge, Backend string }
