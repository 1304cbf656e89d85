package webhook

import (
	"strings"
	"testing"

	"kith/core"
)

func TestParseEndpoint(t *testing.T) {
	for _, c := range []struct {
		name, url  string
		test, live bool
	}{
		{"https", "https://shop.example/hook", true, true},
		{"https with a port and a query", "https://shop.example:8443/a?b=c&d=%20", true, true},
		{"https without a path", "https://shop.example", true, true},
		{"an address", "https://8.8.8.8/hook", true, true},
		{"an IPv6 address", "https://[2606:4700::1111]:1/hook", true, true},
		{"the local machine", "https://127.0.0.1/", true, false},
		{"a cloud's metadata", "https://169.254.169.254/", true, false},
		{"a private network, with a port", "https://10.0.0.1:8443/", true, false},
		{"documentation", "https://192.0.2.1/hook", true, false},
		{"an address with a trailing dot", "https://192.168.0.1./", true, false},
		{"a short address", "https://127.1/", true, false},
		{"an address as one number", "https://2130706433/", true, false},
		{"an address in hex", "https://0X7F.0.0.0x1/", true, false},
		{"an address in octal", "https://0177.0.0.01/", true, false},
		{"the local machine by IPv6", "https://[::1]/", true, false},
		{"a private network by IPv6", "https://[fd00:ec2::254]/", true, false},
		{"a link-local address with a zone", "https://[fe80::1%25eth0]/", true, false},
		{"a public address with a zone", "https://[2606:4700::1111%25eth0]/", true, false},
		{"IPv4 in IPv6", "https://[::ffff:127.0.0.1]/", true, false},
		{"localhost", "https://localhost/", true, false},
		{"localhost in capitals, with a dot", "https://LocalHost.:443/", true, false},
		{"a subdomain of localhost", "https://kith.localhost/", true, false},
		{"a name with localhost in it", "https://localhost.example/", true, true},
		{"a name with numbers in it", "https://10.0.0.1.example/", true, true},
		{"a name that begins with 0x", "https://0x.example/", true, true},
		{"capital scheme", "HTTPS://shop.example/", true, true},
		{"http", "http://shop.example/hook", true, false},
		{"longest", "https://shop.example/" + strings.Repeat("a", 2048-21), true, true},
		{"too long", "https://shop.example/" + strings.Repeat("a", 2048-20), false, false},
		{"empty", "", false, false},
		{"relative", "/hook", false, false},
		{"without a scheme", "shop.example/hook", false, false},
		{"scheme-relative", "//shop.example/hook", false, false},
		{"another scheme", "file:///etc/passwd", false, false},
		{"another scheme with a host", "gopher://shop.example/", false, false},
		{"no host", "https:///hook", false, false},
		{"a port and no host", "https://:443/hook", false, false},
		{"opaque", "https:shop.example", false, false},
		{"a user", "https://user@shop.example/", false, false},
		{"a user and a password", "https://user:pass@shop.example/", false, false},
		{"an empty user", "https://@shop.example/", false, false},
		{"a fragment", "https://shop.example/#a", false, false},
		{"an empty fragment", "https://shop.example/#", false, false},
		{"a blank", "https://shop.example/a b", false, false},
		{"a line feed", "https://shop.example/a\nb", false, false},
		{"beyond ASCII", "https://shöp.example/", false, false},
		{"a broken escape", "https://shop.example/%zz", false, false},
		{"an invalid port", "https://shop.example:http/", false, false},
	} {
		for _, live := range []bool{false, true} {
			want := c.test
			if live {
				want = c.live
			}
			got, err := ParseEndpoint("endpointUrl", c.url, live)
			if (err == nil) != want {
				t.Errorf("%s, live %v: error %v, want accepted: %v", c.name, live, err, want)
			}
			if err == nil && string(got) != c.url || err != nil && got != "" {
				t.Errorf("%s, live %v: became %q", c.name, live, got)
			}
		}
	}
}

func TestSecret(t *testing.T) {
	var raw [SecretSize]byte
	for i := range raw {
		raw[i] = byte(250 + i)
	}
	secret := NewSecret(raw)
	if secret != "whsec_+vv8/f7/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBk=" {
		t.Error(secret)
	}
	key, err := SecretKey(secret)
	if err != nil || string(key) != string(raw[:]) {
		t.Errorf("%x, %v", key, err)
	}
	for _, bad := range []string{"", "whsec_", "AAAA", "whsec_?", "WHSEC_AAAA"} {
		if _, err := SecretKey(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// The delays of the example of Standard Webhooks.
func TestDelay(t *testing.T) {
	want := []core.Time{
		5 * core.Second, 5 * core.Minute, 30 * core.Minute, 2 * core.Hour, 5 * core.Hour,
		10 * core.Hour, 14 * core.Hour, 20 * core.Hour, 24 * core.Hour,
	}
	if MaxTries != len(want)+1 {
		t.Errorf("%d tries", MaxTries)
	}
	for i, d := range want {
		for jitter := range 256 {
			got, again := Delay(i+1, uint8(jitter))
			if !again || got < d || got > d+d/10 {
				t.Errorf("after try %d with jitter %d: %d, %v; want %d and up to a tenth more", i+1, jitter, got, again, d)
			}
		}
		if got, _ := Delay(i+1, 0); got != d {
			t.Errorf("after try %d without jitter: %d", i+1, got)
		}
		if got, _ := Delay(i+1, 255); got != d+d/10 {
			t.Errorf("after try %d with the most jitter: %d", i+1, got)
		}
	}
	for _, tries := range []int{-1, 0, MaxTries, MaxTries + 1} {
		if delay, again := Delay(tries, 7); again || delay != 0 {
			t.Errorf("after try %d: %d, %v", tries, delay, again)
		}
	}
}

func TestAfter(t *testing.T) {
	for status := range 1000 {
		for _, tries := range []int{1, MaxTries - 1, MaxTries, MaxTries + 1} {
			want := Next{State: Failed}
			switch {
			case status/100 == 2:
				want = Next{State: Delivered}
			case status == 410:
				want = Next{State: Failed, Disable: true}
			case tries < MaxTries:
				delay, _ := Delay(tries, 9)
				want = Next{State: Waiting, Delay: delay}
			}
			if got := After(tries, Attempt{Status: status}, 9); got != want {
				t.Errorf("status %d at try %d: %+v, want %+v", status, tries, got, want)
			}
		}
	}
}

func TestParseState(t *testing.T) {
	for _, s := range []State{Waiting, Sending, Delivered, Failed} {
		if got, err := ParseState("state", string(s)); got != s || err != nil {
			t.Errorf("%s: %s, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "fail", "lost"} {
		if _, err := ParseState("state", s); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}

func queue(name string) Queue { return Queue{Tenant: "t", Endpoint: Endpoint("https://" + name)} }

func TestShare(t *testing.T) {
	slots := Slots{All: 16, PerQueue: 4}
	well := func(name string) Due { return Due{Queue: queue(name)} }
	failing := func(name string) Due { return Due{Queue: queue(name), Failing: true} }
	many := func(n int, one func(string) Due) (due []Due) {
		for i := range n {
			due = append(due, one(strings.Repeat("x", i+1)))
		}
		return due
	}
	for _, c := range []struct {
		name string
		due  []Due
		busy Busy
		want []int
	}{
		{"nothing due", nil, Busy{}, nil},
		{"one queue gets its limit and no more", []Due{well("a")}, Busy{}, []int{4}},
		{"attempts in progress count", []Due{well("a")}, Busy{Healthy: 3, Queues: map[Queue]int{queue("a"): 3}}, []int{1}},
		{"a full queue", []Due{well("a"), well("b")}, Busy{Healthy: 4, Queues: map[Queue]int{queue("a"): 4}}, []int{0, 3}},
		{"a queue above its limit", []Due{failing("a"), well("b")}, Busy{Healthy: 4, Queues: map[Queue]int{queue("a"): 4}}, []int{0, 3}},
		{"a failing queue gets one at a time", []Due{failing("a"), failing("b")}, Busy{Failing: 1, Queues: map[Queue]int{queue("a"): 1}}, []int{0, 1}},
		{"failing queues leave a quarter", many(16, failing), Busy{}, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}},
		{"healthy queues leave a quarter, and slots for the next ones", many(8, well), Busy{}, []int{4, 3, 2, 1, 1, 1, 0, 0}},
		{"the quarter is for the other kind", append(many(8, well), failing("z")), Busy{}, []int{4, 3, 2, 1, 1, 1, 0, 0, 1}},
		{"all slots taken", []Due{well("a"), failing("b")}, Busy{Healthy: 8, Failing: 8}, []int{0, 0}},
		{"more in progress than slots", []Due{well("a")}, Busy{Healthy: 20}, []int{0}},
	} {
		got := slots.Share(c.due, c.busy)
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
				break
			}
		}
	}
}

// No limit is exceeded, for any number of attempts in progress.
func TestShare_StaysWithinLimits(t *testing.T) {
	slots := Slots{All: 8, PerQueue: 3}
	due := []Due{{Queue: queue("a")}, {Queue: queue("b"), Failing: true}, {Queue: queue("c")}, {Queue: queue("d"), Failing: true}, {Queue: queue("e")}}
	for wellBusy := range 9 {
		for failingBusy := range 9 - wellBusy {
			for inQueue := range 4 {
				busy := Busy{Healthy: wellBusy, Failing: failingBusy, Queues: map[Queue]int{queue("a"): inQueue, queue("d"): inQueue}}
				begun := [2]int{wellBusy, failingBusy}
				for i, n := range slots.Share(due, busy) {
					most, kind := slots.PerQueue, 0
					if due[i].Failing {
						most, kind = 1, 1
					}
					if begun[kind] += n; n < 0 || n > 0 && (n+busy.Queues[due[i].Queue] > most || begun[kind] > 6) {
						t.Errorf("busy %+v: %d for %v", busy, n, due[i])
					}
				}
				if begun[0]+begun[1] > slots.All {
					t.Errorf("busy %+v: %v of %d", busy, begun, slots.All)
				}
			}
		}
	}
}
