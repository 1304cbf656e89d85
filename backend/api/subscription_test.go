package api

import (
	"testing"

	"kith/core/webhook"
	"kith/core/wire"
)

// A page of deliveries has the documented form. No story can show one, since a story does
// not control when the sender makes an attempt.
func TestOpenAPI_Deliveries(t *testing.T) {
	d := served(t)
	closeObjects(d.tree)
	schemas := compiler(t, d)
	const at = "#/paths/~1api~1v1~1{tenant}~1subscription~1{endpointUrl}~1deliveries/get/responses/200/content/application~1json/schema"
	for _, state := range []webhook.State{webhook.Waiting, webhook.Sending, webhook.Delivered, webhook.Failed} {
		validate(t, schemas, at, string(wire.Deliveries([]webhook.Delivery{{
			Type: webhook.Test, State: state, Due: 1, Created: 1,
			Attempts: []webhook.Attempt{{Number: 1, Started: 1, Error: "no answer"}, {Number: 2, Started: 1, Status: 200, Answer: "ok"}},
		}}, 1)))
	}
}
