//go:build !tinygo

package wire

import (
	"encoding/json"
	"testing"

	"kith/core/webhook"
)

func FuzzParseWebhookBodies(f *testing.F) {
	for _, s := range []string{
		`{"endpointUrl":"https://shop.example/","name":"Shop"}`, `{"endpointUrl":null}`, `{"id":"e1"}`, `{"since":1772355600000}`, `{"since":1e3}`, `[]`, "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		in, err := ParseWebhookSubscription(body)
		if err != nil {
			callers(t, body, err)
		} else if answer := WebhookSubscription(webhook.Subscription{Endpoint: webhook.Endpoint(in.Endpoint), Name: in.Name, Types: in.Types}); !json.Valid(answer) {
			t.Errorf("%q gives the response %s", body, answer)
		}
		replay, err := ParseReplay(body)
		if err != nil {
			callers(t, body, err)
		} else if replay.Event != "" && replay.Since != 0 || replay.Since < 0 {
			t.Errorf("%q was read as %+v", body, replay)
		}
	})
}
