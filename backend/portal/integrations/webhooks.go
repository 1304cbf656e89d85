package integrations

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"kith/backend/app/admin"
	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/operation"
	"kith/core/webhook"
)

// webhookList is the data of the page of the webhooks.
type webhookList struct {
	*frame.Form
	Webhooks []admin.Webhook
	Types    []frame.Option
	May      bool
	Max      int
	// Since is the time from which on deliveries are stored.
	Since core.Time
}

// webhookFields are the fields of a subscription with their labels.
var webhookFields = map[string]string{"endpointUrl": "The URL", "name": "The name", "password": "Your password"}

func showWebhooks(v *frame.Visit, f *frame.Form) error {
	all, err := v.Engine.Admin.Webhooks.List(v.Ctx(), v.Caller)
	if err != nil {
		return err
	}
	data := webhookList{
		Form: f, Webhooks: all, Types: typeOptions(chosenTypes(v)), May: v.May(operation.SubscribeWebhook), Max: webhook.MaxSubscriptions,
		Since: keptSince(v),
	}
	return v.Page(f.Status(), "webhooks", "Webhooks", data)
}

// keptSince returns the time from which on ended deliveries are stored.
func keptSince(v *frame.Visit) core.Time { return v.Engine.Now() - webhook.Kept }

// chosenTypes returns the types that a form sent.
func chosenTypes(v *frame.Visit) []webhook.Type {
	types := []webhook.Type{}
	for _, text := range v.R.PostForm["eventTypes"] {
		types = append(types, webhook.Type(text))
	}
	return types
}

// typeOptions returns all types of events as options.
func typeOptions(chosen []webhook.Type) (all []frame.Option) {
	for _, t := range webhook.Types() {
		all = append(all, frame.Option{Value: string(t), Label: string(t), Hint: eventText(t), Chosen: slices.Contains(chosen, t)})
	}
	return all
}

// webhookRequest reads the form of a subscription.
func webhookRequest(v *frame.Visit, f *frame.Form, endpoint string) (webhook.Request, error) {
	in := webhook.Request{Endpoint: endpoint, Name: strings.TrimSpace(f.Value("name")), Types: chosenTypes(v)}
	for _, t := range in.Types {
		if _, err := webhook.ParseType("eventTypes", string(t)); err != nil {
			return in, err
		}
	}
	return in, nil
}

// subscribe subscribes an endpoint and shows its secret, once.
func subscribe(v *frame.Visit) error {
	f := v.NewForm()
	in, err := webhookRequest(v, f, strings.TrimSpace(f.Value("endpointUrl")))
	var s webhook.Subscription
	if err == nil {
		err = frame.Confirmed(v, f, "password", func() (err error) {
			s, err = v.Engine.Admin.Webhooks.Subscribe(v.Ctx(), v.Caller, in)
			return err
		})
	}
	if err != nil {
		return f.Again(v, err, webhookFields, showWebhooks)
	}
	if s.Secret == "" {
		return v.Done(path(v, "/webhooks/"+endpointID(s.Endpoint)), "webhook-changed")
	}
	return showWebhook(v, webhookForm{Form: &frame.Form{}, Secret: s.Secret}, endpointID(s.Endpoint))
}

// webhookForm is the data of the page of a webhook.
type webhookForm struct {
	*frame.Form
	Webhook admin.Webhook
	Types   []frame.Option
	// Seen is that of the webhook which the page shows; see frame.SeenOf.
	Seen string
	May  bool
	// Secret is a secret that was just made. Rotated is true if it replaces another one.
	Secret  string
	Rotated bool
	Overlap string
	// Since is as in webhookList.
	Since core.Time
	// Deliveries is a page of the delivery log in the State of the filter.
	Deliveries    []webhook.Delivery
	State         webhook.State
	States        []frame.Option
	Older, Newest string
}

// findWebhook returns the webhook with an id of endpointID.
func findWebhook(v *frame.Visit, id string) (admin.Webhook, error) {
	all, err := v.Engine.Admin.Webhooks.List(v.Ctx(), v.Caller)
	for _, w := range all {
		if endpointID(w.Endpoint) == id {
			return w, nil
		}
	}
	if err == nil {
		err = core.NotFound("There is no such webhook. It may have been removed.")
	}
	return admin.Webhook{}, err
}

// onWebhook returns the handler of a page below that of a webhook, which h gets.
func onWebhook(h func(*frame.Visit, admin.Webhook) error) frame.Handler {
	return func(v *frame.Visit) error {
		w, err := findWebhook(v, v.R.PathValue("id"))
		if err != nil {
			return err
		}
		return h(v, w)
	}
}

// webhookPath returns the path of the page of the webhook in the path.
func webhookPath(v *frame.Visit) string { return path(v, "/webhooks/"+v.R.PathValue("id")) }

func webhookPage(v *frame.Visit, f *frame.Form) error {
	return showWebhook(v, webhookForm{Form: f}, v.R.PathValue("id"))
}

func showWebhook(v *frame.Visit, data webhookForm, id string) (err error) {
	if data.Webhook, err = findWebhook(v, id); err != nil {
		return err
	}
	data.May, data.Overlap = v.May(operation.SubscribeWebhook), days(webhook.SecretOverlap)
	data.Types, data.Since, data.Seen = typeOptions(data.Webhook.Types), keptSince(v), frame.SeenOf(settingsOf(data.Webhook))
	if data.Failed() {
		data.Seen = cmp.Or(data.Value("seen"), data.Seen)
		data.Types = typeOptions(chosenTypes(v))
	}
	filter := webhook.DeliveryFilter{Before: v.R.URL.Query().Get("before")}
	if text := v.R.URL.Query().Get("state"); text != "" {
		if filter.State, err = webhook.ParseState("state", text); err != nil {
			return err
		}
	}
	data.State = filter.State
	var next string
	if data.Deliveries, next, err = v.Engine.Deliveries.Page(v.Ctx(), webhook.Queue{Tenant: v.Caller.Tenant, Endpoint: data.Webhook.Endpoint}, filter); err != nil {
		return err
	}
	base := path(v, "/webhooks/"+id)
	for _, state := range []webhook.State{"", webhook.Failed, webhook.Waiting, webhook.Delivered} {
		o := frame.Option{Value: base + "?state=" + string(state), Label: stateText(state), Chosen: state == filter.State}
		if state == "" {
			o.Value, o.Label = base, "All"
		}
		data.States = append(data.States, o)
	}
	if next != "" {
		data.Older = base + "?before=" + next
		if filter.State != "" {
			data.Older += "&state=" + string(filter.State)
		}
	}
	if filter.Before != "" {
		data.Newest = v.With("before", "")
	}
	return v.Page(data.Status(), "webhook", cmp.Or(data.Webhook.Name, "Webhook"), data)
}

func changeWebhook(v *frame.Visit, w admin.Webhook) error {
	f := v.NewForm()
	in, err := webhookRequest(v, f, string(w.Endpoint))
	if err == nil {
		err = f.CheckSeen("the webhook", settingsOf(w))
	}
	if err == nil {
		_, err = v.Engine.Admin.Webhooks.Subscribe(v.Ctx(), v.Caller, in)
	}
	if err == nil {
		return v.Done(webhookPath(v), "webhook-changed")
	}
	return f.Again(v, err, webhookFields, webhookPage)
}

// settingsOf returns what the form of a webhook replaces.
func settingsOf(w admin.Webhook) string { return fmt.Sprintf("%q %q", w.Name, w.Types) }

// testWebhook queues a test event and shows its delivery.
func testWebhook(v *frame.Visit, w admin.Webhook) error {
	event, err := v.Engine.Admin.Webhooks.Test(v.Ctx(), v.Caller, w.Endpoint)
	if err != nil {
		return err
	}
	return v.Redirect(webhookPath(v) + "/deliveries/" + event)
}

// rotateWebhookSecret gives a webhook another secret and shows it, once.
func rotateWebhookSecret(v *frame.Visit, w admin.Webhook) error {
	s, err := v.Engine.Admin.Webhooks.RotateSecret(v.Ctx(), v.Caller, w.Endpoint)
	if err != nil {
		return err
	}
	return showWebhook(v, webhookForm{Form: &frame.Form{}, Secret: s.Secret, Rotated: true}, v.R.PathValue("id"))
}

func replayFailed(v *frame.Visit, w admin.Webhook) error {
	if _, err := v.Engine.Admin.Webhooks.ReplayFailed(v.Ctx(), v.Caller, w.Endpoint, 0); err != nil {
		return err
	}
	return v.Done(webhookPath(v), "events-replayed")
}

func unsubscribe(v *frame.Visit, w admin.Webhook) error {
	if err := v.Engine.Admin.Webhooks.Unsubscribe(v.Ctx(), v.Caller, w.Endpoint); err != nil {
		return err
	}
	return v.Done(path(v, "/webhooks"), "webhook-removed")
}

// deliveryView is the data of the page of a delivery.
type deliveryView struct {
	Webhook  admin.Webhook
	Delivery admin.Delivery
	// Payload is the beginning of the JSON that is sent, indented, and Cut is true if it has
	// more.
	Payload string
	Cut     bool
	May     bool
	// Soon is true while a result may appear within seconds: a script loads the page again.
	Soon bool
}

// soon is how far in the future the next attempt of a delivery may be for the page to wait
// for it.
const soon = 20 * core.Second

func deliveryPage(v *frame.Visit, w admin.Webhook) error {
	d, err := v.Engine.Admin.Webhooks.Delivery(v.Ctx(), v.Caller, w.Endpoint, v.R.PathValue("event"))
	if err != nil {
		return err
	}
	data := deliveryView{Webhook: w, Delivery: d, May: v.May(operation.ReplayWebhook)}
	data.Payload, data.Cut = payloadText(d.Body)
	data.Soon = d.State == webhook.Sending || d.State == webhook.Waiting && d.Due < v.Engine.Now()+soon
	return v.Page(http.StatusOK, "delivery", "Delivery", data)
}

// maxPayload is how many bytes of a payload are shown.
const maxPayload = 16 << 10

// payloadText returns the beginning of a body, indented.
func payloadText(body []byte) (text string, cut bool) {
	var b bytes.Buffer
	if json.Indent(&b, body, "", "  ") != nil {
		return "", false // there is no body
	}
	text = b.String()
	return strings.ToValidUTF8(text[:min(len(text), maxPayload)], ""), len(text) > maxPayload
}

func replayDelivery(v *frame.Visit, w admin.Webhook) error {
	event := v.R.PathValue("event")
	if err := v.Engine.Admin.Webhooks.Replay(v.Ctx(), v.Caller, w.Endpoint, event); err != nil {
		return err
	}
	return v.Redirect(webhookPath(v) + "/deliveries/" + event)
}
