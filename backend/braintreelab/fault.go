package braintreelab

import (
	"net/http"
	"time"

	"kith/backend/labkit"
)

// refuse makes a call fail before it runs, and reports whether it did.
func refuse(w http.ResponseWriter, r *http.Request, f *labkit.Planned, silence time.Duration) bool {
	f.SetRetryAfter(w.Header())
	switch f.Kind {
	case labkit.TooMany:
		w.WriteHeader(http.StatusTooManyRequests)
	case labkit.Unavailable:
		w.WriteHeader(http.StatusServiceUnavailable)
	case labkit.Broken:
		w.WriteHeader(http.StatusInternalServerError)
	case labkit.Silent:
		labkit.Hang(r, silence)
	case labkit.InFlight:
		write(w, r, refusedKey("915233"))
	default:
		return false
	}
	return true
}
