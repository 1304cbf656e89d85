package webhook

import "kith/core"

// schedule is how long to wait after each failed attempt: the example of
// Standard Webhooks, ten attempts within 75 h 35 min 5 s. The reference retries
// hourly for 72 hours, so that the shortest outage costs an hour.
var schedule = [...]core.Time{
	5 * core.Second, 5 * core.Minute, 30 * core.Minute, 2 * core.Hour, 5 * core.Hour,
	10 * core.Hour, 14 * core.Hour, 20 * core.Hour, 24 * core.Hour,
}

// MaxTries is how many attempts are made for a delivery before it fails.
const MaxTries = len(schedule) + 1

// Delay is how long to wait after the tries-th failed attempt: the schedule's
// time and up to a tenth more, by luck. again is false when that was the last.
func Delay(tries int, luck uint8) (delay core.Time, again bool) {
	if tries < 1 || tries > len(schedule) {
		return 0, false
	}
	delay = schedule[tries-1]
	return delay + delay*core.Time(luck)/2550, true
}
