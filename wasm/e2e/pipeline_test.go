package e2e

import (
	"crypto/hmac"
	"crypto/sha1" // #nosec G505 -- Segment signs with it
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// customers is the number of users of one batch: its messages need two transactions.
const customers = 60

// orders returns a batch of a sender: an identify and an order of each user, and its
// number of messages.
func orders(sender, number int) (body string, messages int) {
	var all []string
	for i := range customers {
		user := fmt.Sprintf("u-%d-%d-%d", sender, number, i)
		all = append(all,
			fmt.Sprintf(`{"type":"track","messageId":"order-%s","userId":"%s","event":"Order Completed","properties":{"order_id":"%s","revenue":"80.50"}}`, user, user, user),
			fmt.Sprintf(`{"type":"identify","messageId":"identify-%s","userId":"%s","traits":{"firstName":"Uma"}}`, user, user))
	}
	return `{"batch":[` + strings.Join(all, ",") + `]}`, len(all)
}

// pipeline sends signed batches as Segment does: each is repeated until its answer is
// neither 429 nor 5xx.
type pipeline struct {
	url, secret string
	bases       []string
	stop        atomic.Bool
	sent        atomic.Int64
	repeated    atomic.Int64
	done        sync.WaitGroup
	errs        [4]error
}

// delivered is the answer to a batch.
type delivered struct{ Received, Processed, Duplicates int }

// deliver sends a batch until it is accepted.
func (p *pipeline) deliver(base, body string) (delivered, error) {
	mac := hmac.New(sha1.New, []byte(p.secret))
	mac.Write([]byte(body))
	signature := hex.EncodeToString(mac.Sum(nil))
	for end := time.Now().Add(deadline); ; time.Sleep(20 * time.Millisecond) {
		a, err := call(http.MethodPost, base+p.url, body, "Content-Type: application/json", "X-Signature: "+signature)
		switch {
		case err == nil && a.status == http.StatusOK:
			return decoded[delivered](a)
		case err == nil && a.status < 500 && a.status != http.StatusTooManyRequests:
			return delivered{}, fmt.Errorf("%d %s", a.status, a.body)
		case time.Now().After(end):
			return delivered{}, fmt.Errorf("%d %s %w", a.status, a.body, err)
		}
		p.repeated.Add(1)
	}
}

// start starts the senders, each of which sends its batches to another node.
func (p *pipeline) start() {
	for sender := range p.errs {
		p.done.Go(func() {
			for i := 0; !p.stop.Load() && p.errs[sender] == nil; i++ {
				body, messages := orders(sender, i)
				r, err := p.deliver(p.bases[(sender+i)%len(p.bases)], body)
				if err == nil && r.Processed+r.Duplicates != messages {
					err = fmt.Errorf("of %d messages %+v", messages, r)
				}
				p.errs[sender] = err
				p.sent.Add(1)
			}
		})
	}
}

// interrupt kills and restarts a process several times while batches are sent, and then
// checks that each message had its effect once.
func (p *pipeline) interrupt(t *testing.T, s *site, tenant string, restarts []func()) {
	t.Helper()
	p.start()
	for _, restart := range restarts {
		before := p.sent.Load()
		await(t, func() error {
			if p.sent.Load() < before+4 {
				return errors.New("no batch is accepted")
			}
			return nil
		})
		restart()
	}
	p.stop.Store(true)
	p.done.Wait()
	require.NoError(t, errors.Join(p.errs[:]...))
	db := s.open(t)
	waitProcessed(t, db)
	batches := int(p.sent.Load())
	once := func() {
		for query, want := range map[string]int{
			`SELECT count(*) FROM event WHERE tenant = ?`:                                 batches * customers,
			`SELECT count(DISTINCT fields ->> 'order_id') FROM event WHERE tenant = ?`:    batches * customers,
			`SELECT count(*) FROM user WHERE tenant = ? AND first_name = 'Uma'`:           batches * customers,
			`SELECT count(*) FROM intake WHERE tenant = ? AND idempotency_key <> ''`:      2 * batches * customers,
			`SELECT count(DISTINCT idempotency_key) FROM intake WHERE tenant = ?`:         2 * batches * customers,
			`SELECT count(*) FROM event WHERE tenant = ? AND fields ->> 'revenue' = 80.5`: batches * customers,
		} {
			require.Equal(t, want, number(t, db, query, tenant), query)
		}
	}
	once()
	for sender := range p.errs {
		body, messages := orders(sender, 0)
		r, err := p.deliver(p.bases[sender%len(p.bases)], body)
		require.NoError(t, err)
		require.Equal(t, delivered{Received: messages, Duplicates: messages}, r)
	}
	waitProcessed(t, db)
	once()
	t.Logf("%d batches of %d messages, %d calls repeated", batches, 2*customers, p.repeated.Load())
}

func newPipeline(t *testing.T, s *site, tenant string, bases ...string) *pipeline {
	t.Helper()
	secret := strings.TrimSpace(s.ok(t, "api", "POST", "/integration/segment/secret", "--tenant", tenant, "--value", "secret"))
	return &pipeline{url: "/api/v1/" + tenant + "/integration/segment", secret: secret, bases: bases}
}

// A pipeline that repeats its calls loses no message and doubles none, whenever the
// backend or the edge is killed.
func TestKill_PipelineMessagesCountOnce(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	backend := s.serve(t)
	edge := s.serveEdge(t)
	killBackend := func() { backend.kill(); backend = s.serve(t) }
	killEdge := func() { edge.kill(); edge = s.serveEdge(t) }
	newPipeline(t, s, "demo", s.edge, s.backend).interrupt(t, s, "demo", []func(){killBackend, killEdge, killBackend, killBackend, killEdge})
}

// The same on two edges and two backends with one database server.
func TestFleet_PipelineMessagesCountOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	kill := func(i int) func() {
		return func() { f.backends[i].kill(); f.backends[i] = f.nodes[i].serve(t) }
	}
	newPipeline(t, f.nodes[0], f.tenant, f.bases()...).interrupt(t, f.nodes[0], f.tenant, []func(){
		kill(0), kill(1), func() { f.cluster.KillPrimary(t); f.cluster.StartPrimary(t) }, kill(0),
	})
}
