package e2e

import (
	"cmp"
	"database/sql"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"
)

// The bounds that make soak SOAK_FAULTS=1 checks.
const (
	// longestInterruption bounds the time in which no link, or no look-up, was answered as
	// it should be through an edge that was not itself killed or paused.
	longestInterruption = 250 * time.Millisecond
	// longestEvent bounds how long an event call waits for any answer of such an edge.
	longestEvent = 2 * time.Second
)

// unstored is how long before its end a killed edge may have stored no counts of visits: it
// does so each second, and the primary may just have been away.
const unstored = longFault + 5*time.Second

// settle is how long calls are still counted with a fault that has ended.
const settle = time.Second

// verdict prints what was answered during each kind of fault, and fails the test if an
// answer contradicts the database or, in a long run, a bound was exceeded.
func (f *faultFleet) verdict(t *testing.T, l *faultLoad) {
	calls := l.calls
	slices.SortFunc(calls, func(a, b faultCall) int { return a.sent.Compare(b.sent) })
	f.report(t, calls)
	load, err := os.ReadFile("/proc/loadavg")
	require.NoError(t, err)
	t.Logf("this machine: the load was sent up to %.0f ms late, and a server that needs no part of the fleet did not answer for up to %.0f ms; load average %s",
		ms(l.stall), ms(longestGap(l.control)), strings.TrimSpace(string(load)))
	f.problems(t, calls)
	f.bounds(t, calls)
	f.requireHistory(t, calls)
}

// requireHistory compares each answer with what is stored.
func (f *faultFleet) requireHistory(t *testing.T, calls []faultCall) {
	db := f.nodes[0].open(t)
	waitProcessed(t, db)
	f.requireEvents(t, db, calls)
	f.requireReferrals(t, db, calls)
	f.requireVisits(t, db, calls)
}

// counts runs a query for texts and numbers.
func counts(t *testing.T, db *sql.DB, query string, args ...any) map[string]int {
	rows, err := db.Query(query, args...)
	require.NoError(t, err)
	defer rows.Close()
	all := map[string]int{}
	for rows.Next() {
		var key string
		var n int
		require.NoError(t, rows.Scan(&key, &n))
		all[key] = n
	}
	require.NoError(t, rows.Err())
	return all
}

// requireEvents checks that an event call that was answered with 200 is stored and applied
// once, that one that was answered with 409 is stored, and that each other call is stored
// once or not at all.
func (f *faultFleet) requireEvents(t *testing.T, db *sql.DB, calls []faultCall) {
	applied := counts(t, db, `SELECT key, count(*) FROM event WHERE tenant = ? GROUP BY key`, f.tenant)
	stored := counts(t, db, `SELECT idempotency_key, count(*) FROM intake WHERE tenant = ? AND idempotency_key IS NOT NULL GROUP BY idempotency_key`, f.tenant)
	answers := map[string][]int{}
	for _, c := range calls {
		if c.kind == eventCall {
			answers[c.id] = append(answers[c.id], c.status)
		}
	}
	accepted, refused, unclear := 0, 0, 0
	for id, statuses := range answers {
		n := applied[id]
		delete(applied, id)
		if keyed(id) {
			key := "key-" + id + "-x"
			require.Equal(t, n/eventsPerCall, stored[key], "calls stored for %s, answered %v", id, statuses)
			delete(stored, key)
		}
		require.Contains(t, []int{0, eventsPerCall}, n, "events applied of %s, answered %v", id, statuses)
		count := map[int]int{}
		for _, status := range statuses {
			count[status]++
		}
		require.LessOrEqual(t, count[http.StatusOK], 1, "%s answered %v", id, statuses)
		if count[http.StatusOK]+count[http.StatusConflict] > 0 {
			require.Equal(t, eventsPerCall, n, "events applied of %s, answered %v", id, statuses)
		}
		if count[http.StatusConflict] > 0 {
			require.Greater(t, len(statuses), 1, "%s was sent once", id)
			refused++
		}
		if count[http.StatusOK] > 0 {
			accepted++
		} else if n > 0 {
			unclear++
		}
	}
	require.Empty(t, applied, "events that were never sent")
	require.Empty(t, stored, "calls that were never sent")
	t.Logf("event calls: %d sent, %d answered 200, each stored and applied once; %d answered 409, each stored; %d stored without a 200",
		len(answers), accepted, refused, unclear)
}

// requireReferrals checks that a user who was identified has one referral, which converted
// and gave one reward to each side, and that each other user has all of this or none.
func (f *faultFleet) requireReferrals(t *testing.T, db *sql.DB, calls []faultCall) {
	users := counts(t, db, `SELECT id, count(*) FROM user WHERE tenant = ? GROUP BY id`, f.tenant)
	converted := counts(t, db, `SELECT referred_account_id, count(*) FROM referral WHERE tenant = ? AND state = 'converted' GROUP BY referred_account_id`, f.tenant)
	referred := counts(t, db, `SELECT account_id, count(*) FROM reward WHERE tenant = ? AND source = 'REFERRED' GROUP BY account_id`, f.tenant)
	friends := counts(t, db, `SELECT r.referred_account_id, count(*) FROM reward w JOIN referral r ON r.tenant = w.tenant AND r.id = w.referral_id
		WHERE w.tenant = ? AND w.source = 'FRIEND_SIGNUP' AND w.account_id = 'anna' GROUP BY r.referred_account_id`, f.tenant)
	delete(users, "anna")
	identified := 0
	for _, c := range calls {
		if c.kind != identifyCall {
			continue
		}
		n := users[c.id]
		delete(users, c.id)
		require.LessOrEqual(t, n, 1, c.id)
		if c.status == http.StatusOK {
			identified++
			require.Equal(t, 1, n, "%s was identified", c.id)
		}
		require.Equal(t, [3]int{n, n, n}, [3]int{converted[c.id], referred[c.id], friends[c.id]},
			"referrals of %s, its rewards, and those of its referrer", c.id)
		delete(converted, c.id)
	}
	require.Empty(t, users, "users that were never sent")
	require.Empty(t, converted, "referrals of accounts that were never sent")
	t.Logf("%d users were identified, each was referred once and gave one reward to each side", identified)
}

// requireVisits checks that each link that was answered is counted once. A killed edge may
// lose those since it last stored its counts; an answer that was lost may be counted.
func (f *faultFleet) requireVisits(t *testing.T, db *sql.DB, calls []faultCall) {
	for i := range f.nodes {
		f.edges[i].stop(t) // stores what it has counted
	}
	answered, lost, unclear := 0, 0, 0
	for _, c := range calls {
		switch {
		case c.kind != linkCall:
		case c.ok():
			answered++
			for _, d := range f.down(c.edge) {
				if d.kind == "kill" && c.answered.Before(d.end) && c.answered.After(d.begin.Add(-unstored)) {
					lost++
					break
				}
			}
		case c.status == 0:
			unclear++
		}
	}
	counted := number(t, db, `SELECT coalesce(sum(visits), 0) FROM visit WHERE tenant = ? AND code = 'ANNA10'`, f.tenant)
	t.Logf("%d links were answered, %d visits are counted; at most %d may be lost with a killed edge", answered, counted, lost)
	require.GreaterOrEqual(t, counted, answered-lost)
	require.LessOrEqual(t, counted, answered+unclear)
}

// longestGap returns the longest time between two answers.
func longestGap(answers []time.Time) (longest time.Duration) {
	slices.SortFunc(answers, time.Time.Compare)
	for i := 1; i < len(answers); i++ {
		longest = max(longest, answers[i].Sub(answers[i-1]))
	}
	return longest
}

// interval is a time in which an edge was neither killed nor paused.
type interval struct{ begin, end time.Time }

// up returns when an edge was up, from the first call to the last one.
func (f *faultFleet) up(edge int, calls []faultCall) (all []interval) {
	from := f.began
	for _, c := range f.down(edge) {
		all = append(all, interval{from, c.begin})
		from = c.end
	}
	return append(all, interval{from, calls[len(calls)-1].sent})
}

// disturbed reports whether an edge was killed or paused while a call waited.
func (f *faultFleet) disturbed(c faultCall) bool {
	for _, d := range f.down(c.edge) {
		if c.sent.Before(d.end) && c.answered.After(d.begin) {
			return true
		}
	}
	return false
}

// gap is a time in which no call of a kind was answered as it should be.
type gap struct {
	interval
	edge int
}

func (g gap) length() time.Duration { return g.end.Sub(g.begin) }

// gaps returns the times between two good answers of a kind through one edge that was up,
// the longest first.
func (f *faultFleet) gaps(kind int, calls []faultCall) (all []gap) {
	for edge := range f.nodes {
		var good []time.Time
		for _, c := range calls {
			if c.kind == kind && c.edge == edge && c.ok() {
				good = append(good, c.answered)
			}
		}
		slices.SortFunc(good, time.Time.Compare)
		for _, up := range f.up(edge, calls) {
			last := up.begin
			for _, at := range good {
				if at.After(last) && at.Before(up.end) {
					all = append(all, gap{interval{last, at}, edge})
					last = at
				}
			}
			if up.end.After(last) {
				all = append(all, gap{interval{last, up.end}, edge})
			}
		}
	}
	slices.SortFunc(all, func(a, b gap) int { return cmp.Compare(b.length(), a.length()) })
	return all
}

// during returns the fault that a time belongs to, or "none".
func (f *faultFleet) during(at time.Time) caused {
	for _, c := range f.caused {
		if !at.Before(c.begin) && at.Before(c.end.Add(settle)) {
			return c
		}
	}
	return caused{kind: "none"}
}

// report prints a table of the answers by kind of fault.
func (f *faultFleet) report(t *testing.T, calls []faultCall) {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "fault\tcalls\tsent\tnot answered\t503\tother\tlongest interruption\tp99\tlongest wait")
	gaps := make([][]gap, len(callKinds))
	for kind := range callKinds {
		gaps[kind] = f.gaps(kind, calls)
	}
	names := []string{"none"}
	for _, k := range faultKinds {
		names = append(names, k.name)
	}
	for _, name := range names {
		for kind, of := range callKinds {
			var took []time.Duration
			count, other := map[int]int{}, 0
			for _, c := range calls {
				if c.kind == kind && f.during(c.sent).kind == name && !f.disturbed(c) {
					took = append(took, c.took())
					count[c.status]++
					if !c.expected() {
						other++
					}
				}
			}
			if len(took) == 0 {
				continue
			}
			slices.Sort(took)
			longest := time.Duration(0)
			for _, g := range gaps[kind] {
				if f.during(g.begin).kind == name || f.during(g.end).kind == name {
					longest = g.length()
					break
				}
			}
			fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%.0f ms\t%.0f ms\t%.0f ms\n", name, of, len(took), count[0], count[http.StatusServiceUnavailable], other,
				ms(longest), ms(quantile(took, 99)), ms(took[len(took)-1]))
		}
	}
	require.NoError(t, table.Flush())
	t.Logf("%d calls, %d faults; calls to an edge that was itself killed or paused are left out\n%s", len(calls), len(f.caused), &text)
}

// problems prints why calls were not answered, and fails the test if there was an answer
// that no call may get.
func (f *faultFleet) problems(t *testing.T, calls []faultCall) {
	count, wrong := map[string]int{}, 0
	for _, c := range calls {
		if c.problem != "" && !f.disturbed(c) {
			count[fmt.Sprintf("%s: %s: %s", f.during(c.sent).kind, callKinds[c.kind], c.problem)]++
		}
		if !c.expected() {
			wrong++
		}
	}
	for _, problem := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%5d × %s", count[problem], problem)
	}
	if t.Logf("%d unexpected answers", wrong); wrong > 0 {
		t.Errorf("%d calls were answered neither as they should be nor with 503", wrong)
	}
}

// bounds prints the longest interruption of each kind of call and the longest wait of an
// event call, and fails a long run if one exceeds its bound.
func (f *faultFleet) bounds(t *testing.T, calls []faultCall) {
	check := func(what string, found, bound time.Duration, at gap) {
		c := f.during(at.begin)
		if c.kind == "none" {
			c = f.during(at.end)
		}
		t.Logf("%s: %.0f ms, through edge%d after %.1f s (fault: %s %s)", what, ms(found), at.edge+1, at.begin.Sub(f.began).Seconds(), c.kind, c.what)
		if *faultsFor > 0 && found > bound {
			t.Errorf("%s: %.0f ms, at most %.0f ms are allowed", what, ms(found), ms(bound))
		}
	}
	for _, kind := range []int{linkCall, lookUpCall} {
		longest := f.gaps(kind, calls)[0]
		check("longest interruption of "+callKinds[kind], longest.length(), longestInterruption, longest)
	}
	var longest faultCall
	for _, c := range calls {
		if c.kind == eventCall && c.took() > longest.took() && !f.disturbed(c) {
			longest = c
		}
	}
	check("longest wait of an event", longest.took(), longestEvent, gap{interval{longest.sent, longest.answered}, longest.edge})
	interrupted := f.gaps(eventCall, calls)[0]
	t.Logf("longest interruption of events: %.0f ms, through edge%d after %.1f s", ms(interrupted.length()), interrupted.edge+1, interrupted.begin.Sub(f.began).Seconds())
}
