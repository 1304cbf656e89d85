package stripe

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/stripe/stripe-go/v86"

	"kith/backend/gateway"
	"kith/core"
	"kith/core/billing"
)

// Adapter is the implementation of the port.
var Adapter = gateway.Adapter{Dial: dial, Parse: parse}

// APIVersion is the version of Stripe's API that calls and webhooks have.
const APIVersion = sdk.APIVersion

// timeout bounds one attempt of a call. retries is small: a failed task is tried again
// later, and other tasks can run until then.
const (
	timeout = 30 * time.Second
	retries = 1
)

// adapter is an account at Stripe behind the port.
type adapter struct {
	api    *sdk.Client
	tenant core.TenantAlias
	c      billing.Connection
	// coupons are the ids of coupons that exist.
	coupons sync.Map
}

// dial returns the gateway of a tenant. A live connection calls only Stripe's host.
func dial(s gateway.Settings) (gateway.Gateway, error) {
	c := s.Connection
	if len(c.Keys) == 0 {
		return nil, errors.New("job: the gateway's connection has no key")
	}
	if _, err := billing.CheckStripeKey("apiKey", c.Keys[0].Private, !s.Test); err != nil {
		return nil, err
	}
	url := sdk.APIURL
	if c.BaseURL != "" {
		if !s.Test {
			return nil, errors.New("gateway: a live connection cannot have a base URL of its own")
		}
		url = strings.TrimSuffix(c.BaseURL, "/")
	}
	backend := sdk.GetBackendWithConfig(sdk.APIBackend, &sdk.BackendConfig{
		URL: sdk.String(url), MaxNetworkRetries: sdk.Int64(retries), EnableTelemetry: sdk.Bool(false),
		LeveledLogger: &sdk.LeveledLogger{Level: sdk.LevelNull},
		HTTPClient:    &http.Client{Timeout: timeout, Transport: &gate{}, CheckRedirect: noRedirect},
	})
	return &adapter{
		api:    sdk.NewClient(c.Keys[0].Private, sdk.WithBackends(&sdk.Backends{API: backend, Connect: backend, Uploads: backend, MeterEvents: backend})),
		tenant: s.Tenant, c: c,
	}, nil
}

// noRedirect follows no redirect: Stripe sends none, and another server's would get the
// key.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// gate sends requests, and holds all of them back for a time when Stripe answers that
// there were too many.
type gate struct {
	mu    sync.Mutex
	until time.Time
}

const (
	// pause is that after an answer 429 without Retry-After, and maxPause the longest one
	// that a call waits for.
	pause    = time.Second
	maxPause = 20 * time.Second
)

var errPaused = errors.New("the pause that the gateway asked for is not over")

// RoundTrip waits for the end of a pause, and sends a request.
func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	g.mu.Lock()
	left := time.Until(g.until)
	g.mu.Unlock()
	if left > maxPause {
		return nil, errPaused
	}
	if left > 0 {
		timer := time.NewTimer(left)
		defer timer.Stop()
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-timer.C:
		}
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusTooManyRequests {
		wait := pause
		if seconds, err := strconv.ParseUint(answer.Header.Get("Retry-After"), 10, 16); err == nil && seconds > 0 {
			wait = time.Duration(seconds) * time.Second
		}
		g.mu.Lock()
		g.until = time.Now().Add(wait)
		g.mu.Unlock()
	}
	return answer, err
}

// maxText bounds the text of an error of Stripe.
const maxText = 300

// keys are API keys in the text of an error, which Stripe masks in part.
var keys = regexp.MustCompile(`\b[rs]k_(test|live)_[\w*]+`)

// problem is an error of Stripe, as a text without keys.
type problem struct {
	err  error
	text string
}

func (p *problem) Error() string { return p.text }
func (p *problem) Unwrap() error { return p.err }

// portError returns an error of the client as one of the port.
func portError(err error) error {
	if err == nil {
		return nil
	}
	e := &gateway.Error{Action: gateway.Retry}
	var refused *sdk.Error
	if !errors.As(err, &refused) {
		e.Err = &problem{err, "gateway: no answer: " + keys.ReplaceAllString(err.Error(), "key")}
		return e
	}
	text := "gateway: status " + strconv.Itoa(refused.HTTPStatusCode)
	if refused.Code != "" {
		text += ", " + string(refused.Code)
	}
	if refused.Param != "" {
		text += " on " + refused.Param
	}
	text += ": " + keys.ReplaceAllString(refused.Msg, "key")
	e.Err = &problem{err, text[:min(len(text), maxText)]}
	switch status := refused.HTTPStatusCode; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		e.Action = gateway.SetUp
	case status == http.StatusNotFound, refused.Code == sdk.ErrorCodeResourceMissing:
		e.Action = gateway.Missing
	case status == http.StatusTooManyRequests, status == http.StatusConflict, status == http.StatusRequestTimeout, status >= 500:
		e.Action = gateway.Retry
	default:
		e.Action = gateway.Alert
	}
	return e
}

// hasCode reports whether an error of Stripe has a code.
func hasCode(err error, code sdk.ErrorCode) bool {
	var refused *sdk.Error
	return errors.As(err, &refused) && refused.Code == code
}

// maxList bounds the objects of a list that are read.
const maxList = 10_000

// all reads a list, at most maxList objects of it.
func all[T any](ctx context.Context, list *sdk.V1List[T]) (found []T, err error) {
	for one, err := range list.All(ctx) {
		if err != nil {
			return nil, portError(err)
		}
		if found = append(found, one); len(found) >= maxList {
			break
		}
	}
	return found, nil
}

// firstPage returns the parameters of a list of which one page of 100 objects is read.
func firstPage() sdk.ListParams { return sdk.ListParams{Limit: sdk.Int64(100), Single: true} }

// page returns the parameters of a list that is read in pages of 100 objects.
func page() sdk.ListParams { return sdk.ListParams{Limit: sdk.Int64(100)} }

func timeOf(seconds int64) core.Time { return core.Time(seconds) * core.Second }
