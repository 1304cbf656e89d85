package api

import (
	"path"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kith/wasm/transcript"
)

// comparedHeaders are the headers that are compared with the document. Generated clients
// read them.
var comparedHeaders = []string{"WWW-Authenticate", "Retry-After", "Allow", onceHeader}

// headers returns the headers that the document gives an answer, with references
// resolved.
func (d document) headers(t *testing.T, m message) map[string]header {
	t.Helper()
	if m.Ref != "" {
		name := path.Base(m.Ref)
		require.Contains(t, d.Components.Responses, name)
		m = d.Components.Responses[name]
	}
	all := map[string]header{}
	for name, h := range m.Headers {
		if h.Ref != "" {
			require.Contains(t, d.Components.Headers, path.Base(h.Ref))
			h = d.Components.Headers[path.Base(h.Ref)]
		}
		all[name] = h
	}
	return all
}

// checkHeaders checks that the document has each compared header of an answer, and that
// the answer has each compared header that the document requires.
func (d document) checkHeaders(t *testing.T, o endpoint, x transcript.Exchange) {
	t.Helper()
	_, response := o.response(t, x.Status)
	documented := d.headers(t, response)
	for _, name := range comparedHeaders {
		h, ok := documented[name]
		value := x.ResponseHeader.Get(name)
		sent := value != "" && value != "ignored" // any call may have a key that has no meaning there
		assert.True(t, ok || !sent, "%s %s does not document %s with status %d", o.method, o.path, name, x.Status)
		assert.True(t, sent || !h.Required, "%s %s documents %s with status %d, which is not sent", o.method, o.path, name, x.Status)
	}
}

// The document gives every answer the header X-Request-Id. The stories check that it is
// sent.
func TestOpenAPI_EveryAnswerHasARequestID(t *testing.T) {
	t.Parallel()
	d := served(t)
	for _, o := range d.operations(t) {
		for status, response := range o.body.Responses {
			id, ok := d.headers(t, response)["X-Request-Id"]
			assert.True(t, ok && id.Required, "%s %s: status %s", o.method, o.path, status)
		}
	}
}

// statusHeaders has the compared header that all answers with a status have.
var statusHeaders = map[int]string{401: "WWW-Authenticate", 405: "Allow", 429: "Retry-After", 503: "Retry-After"}

// The document gives the statuses in statusHeaders their header, and no other status a
// compared header, even if no story gets the status.
func TestOpenAPI_StatusesHaveTheirHeaders(t *testing.T) {
	t.Parallel()
	d := served(t)
	for _, o := range d.operations(t) {
		for status, name := range statusHeaders {
			if _, ok := o.body.Responses[strconv.Itoa(status)]; ok || unexpected[status] {
				_, response := o.response(t, status)
				assert.Contains(t, d.headers(t, response), name, "%s %s: status %d", o.method, o.path, status)
			}
		}
		for key, response := range o.body.Responses {
			status, _ := strconv.Atoi(key)
			for name, h := range d.headers(t, response) {
				compared := name != onceHeader && slices.Contains(comparedHeaders, name)
				assert.True(t, !compared || key == "default" || h.Required && statusHeaders[status] == name, "%s %s: %s with status %s", o.method, o.path, name, key)
			}
		}
	}
}
