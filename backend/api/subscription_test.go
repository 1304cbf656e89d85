package api

import (
	"testing"

	"kith/core/webhook"
	"kith/core/wire"
)

// No story shows a delivery, since when an attempt is made is not up to it. What
// a page of them looks like is documented all the same.
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
