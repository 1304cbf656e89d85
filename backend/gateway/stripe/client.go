package stripe

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"kith/backend/gateway"
)

// APIVersion is the version of Stripe's API that calls and webhooks have (gateway 4.1.2).
const APIVersion = "2026-06-24.dahlia"

// host is Stripe's own host.
const host = "https://api.stripe.com"

const (
	// timeout bounds one attempt of a call.
	timeout = 30 * time.Second
	// retryPause is the time before the second attempt of a call. There is no third one:
	// a failed task is tried again later, and other tasks can run until then.
	retryPause = 500 * time.Millisecond
	// maxAnswer bounds an answer: a page of 100 invoices has about 2 MB.
	maxAnswer = 16 << 20
)

// client calls Stripe with one key. All errors of its calls are *gateway.Error. It is safe
// for concurrent use.
type client struct {
	base, key string
	http      *http.Client
}

func newClient(base, key string) *client {
	return &client{base: base, key: key, http: &http.Client{
		Timeout: timeout, Transport: &gate{},
		// Stripe does not redirect; another server's redirect would get the key.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// params are the parameters of a call, with the names of Stripe's form encoding:
// metadata[order], expand[0].
type params = url.Values

// each adds the values of a list to parameters, and returns them.
func each(p params, name string, values ...string) params {
	for i, value := range values {
		p.Set(name+"["+strconv.Itoa(i)+"]", value)
	}
	return p
}

// expand asks for the objects of fields, of which an answer has only the ids otherwise.
func expand(p params, fields ...string) params { return each(p, "expand", fields...) }

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// call is one call.
type call struct {
	method string
	// path is that below /v1, in parts that are not escaped.
	path   []string
	params params
	// key is the idempotency key of a write; if it is empty, the call gets one. Both
	// attempts of a call have the same.
	key string
}

// get reads an object.
func get[T any](ctx context.Context, c *client, p params, path ...string) (T, error) {
	return do[T](ctx, c, call{method: http.MethodGet, path: path, params: p})
}

// post creates or changes an object.
func post[T any](ctx context.Context, c *client, p params, path ...string) (T, error) {
	return postOnce[T](ctx, c, "", p, path...)
}

// postOnce creates or changes an object at most once for each idempotency key.
func postOnce[T any](ctx context.Context, c *client, key string, p params, path ...string) (T, error) {
	return do[T](ctx, c, call{method: http.MethodPost, path: path, params: p, key: key})
}

// remove deletes an object.
func remove(ctx context.Context, c *client, path ...string) error {
	_, err := do[identified](ctx, c, call{method: http.MethodDelete, path: path})
	return err
}

// maxList bounds the objects of a list that are read, and pageSize is the most that an
// answer has.
const (
	maxList  = 10_000
	pageSize = "100"
)

// list reads a list, newest first, at most maxList objects of it.
func list[T interface{ key() string }](ctx context.Context, c *client, p params, path ...string) (found []T, err error) {
	p = maps.Clone(p)
	for {
		page, err := get[listOf[T]](ctx, c, p, path...)
		if err != nil {
			return nil, err
		}
		found = append(found, page.Data...)
		if !page.HasMore || len(page.Data) == 0 || len(found) >= maxList {
			return found[:min(len(found), maxList)], nil
		}
		p.Set("starting_after", page.Data[len(page.Data)-1].key())
	}
}

// page returns the parameters of a list that is read in pages, and pageOf those of one that
// is selected by a parameter.
func page() params                     { return params{"limit": {pageSize}} }
func pageOf(name, value string) params { return params{"limit": {pageSize}, name: {value}} }

// latest reads the first page of a list.
func latest[T any](ctx context.Context, c *client, p params, path ...string) ([]T, error) {
	page, err := get[listOf[T]](ctx, c, p, path...)
	return page.Data, err
}

// do makes a call, and a second time if it may have another result then.
func do[T any](ctx context.Context, c *client, out call) (answer T, err error) {
	address := c.base + "/v1"
	for _, part := range out.path {
		// Such an id would change the target of the call.
		if part == "" || part == "." || part == ".." {
			return answer, &gateway.Error{Action: gateway.Missing, Err: fmt.Errorf("gateway: %q is not an id", part)}
		}
		address += "/" + url.PathEscape(part)
	}
	if out.key == "" && out.method != http.MethodGet {
		out.key = rand.Text()
	}
	body, repeat, err := c.attempt(ctx, out, address)
	if repeat && gateway.Wait(ctx, retryPause) == nil {
		body, _, err = c.attempt(ctx, out, address)
	}
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return answer, lost(fmt.Errorf("the answer to %s /v1/%s cannot be read: %w", out.method, out.path[0], err))
	}
	return answer, nil
}

// attempt makes a call once, and reports whether it may be repeated at once.
func (c *client) attempt(ctx context.Context, out call, address string) (body []byte, repeat bool, err error) {
	form := out.params.Encode()
	if out.method == http.MethodGet && form != "" {
		address, form = address+"?"+form, ""
	}
	r, err := http.NewRequestWithContext(ctx, out.method, address, strings.NewReader(form))
	if err != nil {
		return nil, false, lost(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.key)
	r.Header.Set("Stripe-Version", APIVersion)
	r.Header.Set("User-Agent", "Kith")
	if out.method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if out.key != "" {
		r.Header.Set("Idempotency-Key", out.key)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, ctx.Err() == nil && !final(err), lost(err)
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, ctx.Err() == nil, lost(err)
	case len(body) > maxAnswer:
		return nil, false, lost(fmt.Errorf("the answer has more than %d bytes", maxAnswer))
	case answer.StatusCode < 300:
		return body, false, nil
	}
	e := refusal{status: answer.StatusCode, request: answer.Header.Get("Request-Id")}
	if err := json.Unmarshal(body, &struct{ Error *refusal }{&e}); err != nil || e.Message == "" {
		return nil, true, lost(fmt.Errorf("status %d, and no error of Stripe", answer.StatusCode))
	}
	return nil, e.repeat(answer.Header), e.port()
}

// final reports whether a request that got no answer would get none again.
func final(err error) bool {
	var authority x509.UnknownAuthorityError
	return errors.Is(err, errPaused) || errors.As(err, &authority)
}
