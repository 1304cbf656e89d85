package webhook

import "kith/core"

// schedule has the delay after each failed attempt, from the example of Standard
// Webhooks: ten attempts within 75 h 35 min 5 s (clients 6.6.4). With hourly retries
// (clients 6.5.2), even a short outage would delay events by an hour.
var schedule = [...]core.Time{
	5 * core.Second, 5 * core.Minute, 30 * core.Minute, 2 * core.Hour, 5 * core.Hour,
	10 * core.Hour, 14 * core.Hour, 20 * core.Hour, 24 * core.Hour,
}

// MaxTries is the number of attempts after which a delivery fails.
const MaxTries = len(schedule) + 1

// Delay returns the delay after failed attempt number tries: the time of the schedule
// plus up to 10 %, by jitter. again is false if there are no further attempts.
func Delay(tries int, jitter uint8) (delay core.Time, again bool) {
	if tries < 1 || tries > len(schedule) {
		return 0, false
	}
	delay = schedule[tries-1]
	return delay + delay*core.Time(jitter)/2550, true
}
