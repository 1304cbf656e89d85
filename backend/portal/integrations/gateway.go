package integrations

import (
	"errors"
	"strconv"
	"strings"

	"kith/backend/app/payments"
	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/billing"
	"kith/core/operation"
)

// gatewayProvider has the texts about a payment gateway.
type gatewayProvider struct {
	// Name is the name of the gateway. Keys says where a person finds the keys there,
	// Webhook where to register the URL, and Check how to send a first notification.
	Name, Keys, Webhook, Check string
	Kind                       billing.Kind
}

// providers has the gateways that tenants can connect.
var providers = map[billing.Kind]gatewayProvider{
	billing.Braintree: {
		Kind:    billing.Braintree,
		Name:    "Braintree",
		Keys:    "In Braintree's Control Panel open Settings (the gear), API, Keys. The three values are there; create a key pair for Kith alone.",
		Webhook: "In the Control Panel open Settings, API, Webhooks, and create a webhook with this URL and all notifications about subscriptions, transactions and disputes.",
		Check:   "Press “Check URL” beside the webhook in the Control Panel, or wait for the first one.",
	},
	billing.Stripe: {
		Kind:  billing.Stripe,
		Name:  "Stripe",
		Check: "Send a test event, or wait for the first one.",
	},
}

// notificationsPath returns the path at which the notifications of a gateway arrive.
func notificationsPath(v *frame.Visit, kind billing.Kind) string {
	return "/api/v1/" + string(v.Caller.Tenant) + "/gateway/" + string(kind) + "/webhook"
}

// providerOf returns the gateway of a connection.
func providerOf(v *frame.Visit) (p gatewayProvider, c billing.Connection, connected bool, err error) {
	c, connected, err = v.Engine.Admin.Gateway.Connection(v.Ctx(), v.Caller)
	return providers[c.Kind], c, connected, err
}

// gatewayForm is the data of the page of the gateway.
type gatewayForm struct {
	*frame.Form
	// Provider is the gateway that is connected, or the one that the visitor has chosen to
	// connect; its name is empty until then.
	Provider gatewayProvider
	// Stripe has what only the form and the checklist of Stripe show.
	Stripe stripePage
	May    bool
	// Connection is the connection, if Connected is true.
	Connection billing.Connection
	Connected  bool
	Public     string
	WebhookURL string
	// Check is the result of asking the gateway, if Checked is true. Down says why the
	// gateway could not be asked, or is empty.
	Check    payments.GatewayCheck
	Checked  bool
	Down     string
	Discount string
	Last     []billing.Received
	Parked   []billing.Operation
}

// gatewayFields are the fields of a connection with their labels.
var gatewayFields = map[string]string{"merchantId": "The merchant ID", "publicKey": "The public key", "privateKey": "The private key"}

func gatewayPage(v *frame.Visit, f *frame.Form) error { return showGateway(v, f, false) }

// checkGateway shows the page of the gateway with a checklist that asks the gateway.
func checkGateway(v *frame.Visit) error { return showGateway(v, v.NewForm(), true) }

func showGateway(v *frame.Visit, f *frame.Form, check bool) (err error) {
	data := gatewayForm{Form: f, May: v.May(operation.ConnectGateway)}
	if data.Provider, data.Connection, data.Connected, err = providerOf(v); err != nil {
		return err
	}
	if !data.Connected {
		kind := billing.Kind(f.Value("kind"))
		if kind == "" && f.Failed() {
			kind = billing.Braintree // whose form does not name it
		}
		data.Provider = providers[kind]
	}
	data.WebhookURL = v.Link(notificationsPath(v, data.Provider.Kind))
	if data.Provider.Kind == billing.Stripe {
		data.Stripe = newStripePage(v, f, data.Connection)
	}
	if data.Connected {
		data.Public = data.Connection.Keys[0].Public
	}
	if data.Last, _, err = v.Engine.Notifications.List(v.Ctx(), v.Caller.Tenant, payments.NotificationFilter{}); err != nil {
		return err
	}
	data.Last = data.Last[:min(5, len(data.Last))]
	if data.Parked, err = v.Engine.Operations.List(v.Ctx(), v.Caller.Tenant); err != nil {
		return err
	}
	if check && data.Connected {
		if err := data.check(v); err != nil {
			return err
		}
	}
	return v.Page(f.Status(), "gateway", "Payment gateway", data)
}

// check asks the gateway. That it does not answer is a result.
func (data *gatewayForm) check(v *frame.Visit) (err error) {
	tenant, err := v.Engine.Tenants.ByAlias(v.Ctx(), v.Caller.Tenant)
	if err != nil {
		return err
	}
	data.Checked = true
	data.Check, err = v.Engine.Gateways.Test(v.Ctx(), tenant)
	data.Stripe.sort(data.Check.Checks)
	var known *core.Error
	if errors.As(err, &known) && known.Code == core.CodeUnavailable {
		data.Down = known.Message
		return nil
	}
	return err
}

func connectGateway(v *frame.Visit) error {
	f := v.NewForm()
	before, _, err := v.Engine.Admin.Gateway.Connection(v.Ctx(), v.Caller)
	if err != nil {
		return err
	}
	first := billing.Key{Public: strings.TrimSpace(f.Value("publicKey")), Private: strings.TrimSpace(f.Value("privateKey"))}
	connection := billing.Connection{Kind: billing.Braintree, MerchantID: strings.TrimSpace(f.Value("merchantId")), Keys: []billing.Key{first}}
	for _, k := range before.Keys {
		// The key that is replaced verifies notifications until the gateway signs with the
		// new one.
		if k.Public != first.Public && connection.MerchantID == before.MerchantID && len(connection.Keys) < billing.MaxKeys {
			connection.Keys = append(connection.Keys, k)
		}
	}
	err = v.Engine.Admin.Gateway.Connect(v.Ctx(), v.Caller, connection)
	if err == nil {
		return v.Done(path(v, "/gateway/check"), "gateway-connected")
	}
	return f.Again(v, err, gatewayFields, gatewayPage)
}

func disconnectGateway(v *frame.Visit) error {
	if err := v.Engine.Admin.Gateway.Disconnect(v.Ctx(), v.Caller); err != nil {
		return err
	}
	return v.Done(path(v, "/gateway"), "gateway-disconnected")
}

// notificationList is the data of the notification log.
type notificationList struct {
	*frame.Form
	Provider      gatewayProvider
	Notifications []billing.Received
	Problems      bool
	May           bool
	frame.Links
}

func showNotifications(v *frame.Visit, f *frame.Form) (err error) {
	query := v.R.URL.Query()
	filter := payments.NotificationFilter{Problem: query.Get("problem") == "1"}
	if text := query.Get("before"); text != "" {
		if filter.Before, err = strconv.ParseInt(text, 10, 64); err != nil || filter.Before < 1 {
			return core.Invalid("before", "is not a page of this list; begin at the first page")
		}
	}
	data := notificationList{Form: f, Problems: filter.Problem, May: v.May(operation.ReplayNotification)}
	if data.Provider, _, _, err = providerOf(v); err != nil {
		return err
	}
	var next int64
	if data.Notifications, next, err = v.Engine.Notifications.List(v.Ctx(), v.Caller.Tenant, filter); err != nil {
		return err
	}
	data.Links = frame.LinksOf(v, "before", next, filter.Before == 0)
	return v.Page(f.Status(), "notifications", "Notifications of the gateway", data)
}

func replayNotification(v *frame.Visit) error {
	f := v.NewForm()
	seq, err := strconv.ParseInt(f.Value("id"), 10, 64)
	if err != nil {
		return core.NotFound("There is no such notification.")
	}
	err = v.Engine.Admin.Gateway.Replay(v.Ctx(), v.Caller, seq)
	if err == nil {
		return v.Done(path(v, "/gateway/notifications"), "notification-replayed")
	}
	return f.Again(v, err, map[string]string{"id": "The notification"}, showNotifications)
}

func retryOperation(v *frame.Visit) error {
	f := v.NewForm()
	if _, err := v.Engine.Admin.Gateway.Retry(v.Ctx(), v.Caller, billing.OperationKind(f.Value("kind")), f.Value("id")); err != nil {
		return err
	}
	return v.Done(path(v, "/gateway"), "operation-retried")
}
