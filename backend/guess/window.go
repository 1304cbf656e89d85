package guess

import "time"

// window counts by key in the current window of time and in the one before it.
type window[K comparable] struct {
	size time.Duration
	now  func() time.Time
	// current has the counts of the window number, previous those of the one before.
	number            int64
	current, previous map[K]int
}

func newWindow[K comparable](size time.Duration, now func() time.Time) window[K] {
	return window[K]{size: size, now: now, current: map[K]int{}, previous: map[K]int{}}
}

// recent returns the count of a key in the time of one window until now. The previous window
// counts in proportion to the part of it that is not older.
func (w *window[K]) recent(key K) int {
	elapsed := w.advance()
	return w.current[key] + int(float64(w.previous[key])*(1-elapsed))
}

// advance begins a new window if needed, and returns the elapsed fraction of the current one.
func (w *window[K]) advance() float64 {
	now, size := w.now().UnixNano(), w.size.Nanoseconds()
	if number := now / size; number != w.number {
		w.previous = w.current
		if number != w.number+1 {
			w.previous = map[K]int{}
		}
		w.current, w.number = map[K]int{}, number
	}
	return float64(now%size) / float64(size)
}
