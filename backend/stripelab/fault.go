package stripelab

import (
	"net/http"

	"kith/backend/labkit"
)

// failBefore makes a call fail before it runs, and reports whether it did.
func (l *Lab) failBefore(w http.ResponseWriter, r *http.Request, f *labkit.Planned) bool {
	f.SetRetryAfter(w.Header())
	why := &failure{kind: "api_error", message: "An unknown error occurred."}
	switch f.Kind {
	case labkit.TooMany:
		*why = failure{status: http.StatusTooManyRequests, kind: invalidRequest, code: "rate_limit", message: "Request rate limit exceeded. Learn more about rate limits here https://stripe.com/docs/rate-limits."}
		w.Header().Set("Stripe-Rate-Limited-Reason", "global-rate")
	case labkit.Unavailable:
		why.status = http.StatusServiceUnavailable
	case labkit.Broken:
		why.status = http.StatusInternalServerError
	case labkit.InFlight:
		*why = failure{status: http.StatusConflict, kind: "idempotency_error", code: "idempotency_key_in_use", message: "There is currently another in-progress request using this Idempotent Key. Please try again later."}
	case labkit.Silent:
		l.remember(r, answer{fault: f.Kind})
		labkit.Hang(r, l.options.Silence)
	default:
		return false
	}
	l.finish(w, r, answer{status: why.status, body: encode(why.body()), fault: f.Kind})
	return true
}
