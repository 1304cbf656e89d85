package labkit

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Clock is the time of a lab. It is ahead of the machine's by the time that it was advanced.
type Clock struct {
	// Machine returns the time of the machine, and Unit is to what it is truncated.
	Machine func() time.Time
	Unit    time.Duration
	ahead   time.Duration
}

// Now returns the time of a lab that has run to some time. It never goes back, even if the
// machine's clock does.
func (c *Clock) Now(reached time.Time) time.Time {
	at := c.Machine().UTC().Add(c.ahead).Truncate(c.Unit)
	if at.Before(reached) {
		return reached
	}
	return at
}

// MaxAdvance bounds one step of the clock.
const MaxAdvance = 2 * 366 * 24 * time.Hour

// Advance advances the clock, and returns the new time: "by" 30s, 12h, 3d, 2w, 1m (months) or
// 1y, or "to" a day or a time.
func (c *Clock) Advance(from time.Time, by, to string) (time.Time, error) {
	at, err := later(from, by, to)
	switch {
	case err != nil:
		return from, err
	case at.Before(from):
		return from, errors.New("the clock cannot go back")
	case at.Sub(from) > MaxAdvance:
		return from, errors.New("the clock can advance by at most two years at once")
	}
	c.ahead += at.Sub(from)
	return at, nil
}

func later(from time.Time, by, to string) (time.Time, error) {
	if to != "" {
		if at, err := time.Parse(time.RFC3339, to); err == nil {
			return at.UTC(), nil
		}
		return time.Parse(time.DateOnly, to)
	}
	bad := fmt.Errorf("%q is not a time to advance by; give for example 30s, 12h, 3d, 2w, 1m or 1y", by)
	if by == "" {
		return from, bad
	}
	n, err := strconv.Atoi(by[:len(by)-1])
	if err != nil || n < 0 || n > 100000 {
		return from, bad
	}
	switch by[len(by)-1] {
	case 's':
		return from.Add(time.Duration(n) * time.Second), nil
	case 'h':
		return from.Add(time.Duration(n) * time.Hour), nil
	case 'd':
		return from.AddDate(0, 0, n), nil
	case 'w':
		return from.AddDate(0, 0, 7*n), nil
	case 'm':
		return AddMonths(from, n), nil
	case 'y':
		return AddMonths(from, 12*n), nil
	}
	return from, bad
}

// AddMonths adds months to a time in UTC. A day that the resulting month does not have becomes
// its last one.
func AddMonths(from time.Time, months int) time.Time {
	first := from.AddDate(0, months, 1-from.Day())
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(from.Day(), last)-1)
}
