package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"kith/edge/abi"
	"kith/wasm/watchdog"
)

// newTransport returns a transport that keeps an idle connection per instance. All
// instances usually call the same backend; with net/http's default of two idle
// connections per host most requests would need a new connection.
func newTransport(perHost int) *http.Transport {
	return &http.Transport{
		DisableCompression:     true, // the server's body is passed on unchanged
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           2 * perHost,
		MaxIdleConnsPerHost:    perHost,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    5 * time.Second,
		MaxResponseHeaderBytes: mib,
	}
}

// outboundRequest implements wasi-outbound-http.request(method, uri ptr, len,
// headers ptr, count, params ptr, count, body tag, ptr, len, result). Params
// are ignored, as in Spin.
func (g *guest) outboundRequest(ctx context.Context, stack []uint64) error {
	result := uint32(stack[10])
	if g.refuse() {
		return g.answer(result, appendWords(nil, abi.TagErr, uint32(abi.HTTPTooManyRequests)))
	}
	out, err := g.takeOutbound(ctx, stack)
	var refused abi.HTTPError
	if err == nil {
		g.host.mayNotWrite()
		defer g.host.mayWrite()
		var in *response
		if in, err = g.host.exchange(ctx, out); err == nil {
			return g.putOutbound(ctx, result, in)
		}
	}
	if !errors.As(err, &refused) {
		return err
	}
	return g.answer(result, appendWords(nil, abi.TagErr, uint32(refused)))
}

// takeOutbound copies the request out of the guest. The body is copied too, since the
// transport may still read it when the guest continues.
func (g *guest) takeOutbound(ctx context.Context, stack []uint64) (*http.Request, error) {
	var words [40]byte
	for i, v := range stack[:10] {
		binary.LittleEndian.PutUint32(words[4*i:], uint32(v))
	}
	method, known := abi.MethodName(word(words[:], 0))
	if !known {
		return nil, faultf("outbound method %d", word(words[:], 0))
	}
	target, err := g.copyString(words[4:], "outbound uri")
	if err != nil {
		return nil, err
	}
	headers, err := g.takeHeaders(words[12:])
	if err != nil {
		return nil, err
	}
	body := ""
	if word(words[:], 28) != abi.TagNone {
		if body, err = g.copyString(words[32:], "outbound body"); err != nil {
			return nil, err
		}
	}
	return g.host.newOutbound(ctx, method, target, headers, body)
}

// newOutbound returns the request if the manifest allows it, or an abi.HTTPError.
func (h *Host) newOutbound(ctx context.Context, method, target string, headers []header, body string) (*http.Request, error) {
	if h.options.StrictSpin {
		target = asSpinSends(target)
	}
	u, err := parseTarget(target)
	if err != nil {
		return nil, abi.HTTPInvalidURL
	}
	if !h.allows(u) {
		h.options.Log.Warn("outbound request refused", "host", u.Host)
		return nil, abi.HTTPDestinationNotAllowed
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://invalid", strings.NewReader(body))
	if err != nil {
		return nil, abi.HTTPRuntimeError
	}
	r.URL, r.Host = u, ""
	for _, v := range headers {
		if !httpguts.ValidHeaderFieldName(v.name) || strings.ContainsAny(v.value, "\r\n\x00") {
			return nil, abi.HTTPRequestError
		}
		r.Header.Add(v.name, v.value)
	}
	tidyOutbound(r)
	return r, nil
}

// tidyOutbound removes hop-by-hop headers, and keeps net/http from adding its own.
func tidyOutbound(r *http.Request) {
	r.Host = r.Header.Get("Host")
	r.Header.Del("Host")
	connection := http.Header{"Connection": r.Header["Connection"]}
	for name := range r.Header {
		if hopByHop(name, connection) || name == "Content-Length" {
			r.Header.Del(name)
		}
	}
	if _, ok := r.Header["User-Agent"]; !ok {
		r.Header.Set("User-Agent", "")
	}
}

// parseTarget parses an absolute http or https URL. It keeps the path as written, since
// net/url would encode parts of it again.
func parseTarget(target string) (*url.URL, error) {
	target, _, _ = strings.Cut(target, "#")
	if strings.IndexFunc(target, func(r rune) bool { return r <= ' ' || r == 0x7f }) >= 0 {
		return nil, errors.New("host: control character in url")
	}
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	if defaultPort(u.Scheme) == "" || u.Host == "" || u.User != nil {
		return nil, errors.New("host: url is not http or https")
	}
	_, rest, _ := strings.Cut(target, "://")
	path, _, _ := strings.Cut(rest, "?")
	if i := strings.IndexByte(path, '/'); i >= 0 && !strings.HasPrefix(path[i:], "//") {
		u.Opaque = path[i:]
	}
	return u, nil
}

func (h *Host) allows(u *url.URL) bool {
	return slices.ContainsFunc(h.app.allowed, func(a allowedHost) bool { return a.allows(u) })
}

// exchange makes the request, unless its server hangs.
func (h *Host) exchange(ctx context.Context, r *http.Request) (*response, error) {
	watched, end, err := h.watched(ctx, r.URL)
	if err != nil {
		return nil, h.outboundError() // the watchdog has logged it
	}
	defer end()
	in, err := h.roundTrip(r.WithContext(watched))
	if errors.Is(context.Cause(watched), watchdog.ErrSilent) && err != nil {
		err = watchdog.ErrSilent
	}
	if err != nil {
		return nil, h.outboundFailed(ctx, r, err)
	}
	return in, nil
}

func (h *Host) roundTrip(r *http.Request) (*response, error) {
	in, err := h.send(r)
	if err != nil {
		return nil, err
	}
	defer in.Body.Close()
	var body bytes.Buffer
	limit := h.options.MaxOutboundBody
	if in.ContentLength > 0 && in.ContentLength <= limit && r.Method != http.MethodHead {
		body.Grow(int(in.ContentLength) + bytes.MinRead)
	}
	n, err := io.Copy(&body, io.LimitReader(in.Body, limit+1))
	if err == nil && n > limit {
		err = errors.New("host: the response is too large")
	}
	if err != nil {
		return nil, err
	}
	out := &response{status: in.StatusCode, body: body.Bytes()}
	for name, values := range in.Header {
		for _, value := range values {
			if !hopByHop(name, in.Header) && !(h.options.StrictSpin && beyondASCII(value)) {
				out.headers = append(out.headers, header{strings.ToLower(name), value})
			}
		}
	}
	return out, nil
}

func (h *Host) outboundFailed(ctx context.Context, r *http.Request, err error) error {
	if ctx.Err() != nil {
		return ctx.Err() // the request is over, and the guest with it
	}
	h.options.Log.Error("outbound request failed", "method", r.Method, "host", r.URL.Host, "error", err)
	return h.outboundError()
}

// outboundError returns the error that the guest gets for a request without a response.
func (h *Host) outboundError() error {
	if h.options.StrictSpin {
		return abi.HTTPRuntimeError
	}
	return abi.HTTPRequestError
}

// putOutbound writes a result of abi.OutboundSize: ok, status, headers, body.
func (g *guest) putOutbound(ctx context.Context, result uint32, in *response) error {
	record := appendWords(nil, abi.TagOK, uint32(in.status), abi.TagSome)
	record, err := g.putHeaders(ctx, record, in.headers)
	if err != nil {
		return err
	}
	if record, err = g.putBytes(ctx, appendWords(record, abi.TagSome), in.body); err != nil {
		return err
	}
	return g.answer(result, record)
}
