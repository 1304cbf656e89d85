// Package integrations has the pages that connect a tenant with other systems: the payment
// gateway, webhooks, API keys, the shop's website and customer-data pipelines.
package integrations

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"strings"

	"kith/backend/app/admin"
	"kith/backend/app/payments"
	"kith/backend/app/pipelines"
	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/auth"
	"kith/core/billing"
	"kith/core/link"
	"kith/core/operation"
	"kith/core/webhook"
)

//go:embed page
var files embed.FS

//go:embed integrations.css
var style string

// Section is the section of the integrations.
func Section() *frame.Section {
	return &frame.Section{
		Key: "integrations", Title: "Integrations", Letter: "n", Needs: operation.ReadIntegrations, Shortcuts: shortcuts,
		Pages: frame.Pages{
			Files: files, Style: style,
			Routes: frame.Routes{
				"GET ": startPage,

				"GET /keys":                frame.Show(keysPage),
				"POST /keys/create":        createKey,
				"GET /keys/{name}":         frame.Show(showKey),
				"POST /keys/{name}/rotate": rotateKey,
				"POST /keys/{name}/revoke": revokeKey,

				"GET /webhooks":                         frame.Show(showWebhooks),
				"POST /webhooks/subscribe":              subscribe,
				"GET /webhooks/{id}":                    frame.Show(webhookPage),
				"POST /webhooks/{id}/change":            onWebhook(changeWebhook),
				"POST /webhooks/{id}/test":              onWebhook(testWebhook),
				"POST /webhooks/{id}/secret":            onWebhook(rotateWebhookSecret),
				"POST /webhooks/{id}/replay":            onWebhook(replayFailed),
				"POST /webhooks/{id}/remove":            onWebhook(unsubscribe),
				"GET /webhooks/{id}/deliveries/{event}": onWebhook(deliveryPage),
				"POST /webhooks/{id}/replay/{event}":    onWebhook(replayDelivery),

				"GET /website":                frame.Show(showWebsite),
				"GET /website/storage":        storagePage,
				"POST /website/origin":        addOrigin,
				"POST /website/origin-remove": removeOrigin,
				"POST /website/consent":       changeConsent,
				"POST /website/secure-mode":   changeSecureMode,
				"POST /website/share-origin":  changeShareOrigin,
				"POST /website/time-zone":     changeTimeZone,
				"POST /website/cache":         changeCache,

				"GET /gateway":                frame.Show(gatewayPage),
				"GET /gateway/check":          checkGateway,
				"POST /gateway/connect":       connectGateway,
				"POST /gateway/stripe":        connectStripe,
				"POST /gateway/stripe/roll":   rollStripeSecret,
				"POST /gateway/test":          sendTestEvent,
				"POST /gateway/disconnect":    disconnectGateway,
				"GET /gateway/notifications":  frame.Show(showNotifications),
				"POST /gateway/notifications": replayNotification,
				"POST /gateway/retry":         retryOperation,

				"GET /pipeline":                frame.Show(pipelinePage),
				"POST /pipeline/secret":        rotatePipelineSecret,
				"POST /pipeline/secret-remove": removePipelineSecret,
				"POST /pipeline/mapping":       changeMapping,
			},
			Functions: template.FuncMap{
				"subpages":   subpages,
				"endpointID": endpointID,
				"keyRole":    keyRoleText,
				"eventText":  eventText,
				"stateText":  stateText,
				"untried":    untriedText,
				"days":       days,
				"mapping":    newMappingField,
				"sentence":   frame.Sentence,
			},
			Done: map[string]string{
				"key-revoked":            "The API key is revoked. Calls with it are refused from now on.",
				"webhook-changed":        "The webhook is changed.",
				"webhook-removed":        "The webhook is removed, with its deliveries.",
				"events-replayed":        "The events are queued again. Their results appear in the list.",
				"origin-added":           "The origin is allowed. Its pages may call Kith from now on.",
				"origin-removed":         "The origin is removed.",
				"consent-saved":          "The rule for consent is saved.",
				"secure-mode-saved":      "Secure mode is saved.",
				"time-zone-saved":        "Times are in this time zone from now on.",
				"cache-saved":            "Edges keep answers as you have set it.",
				"share-origin-saved":     "The share links begin with the new origin from now on.",
				"gateway-connected":      "The credentials are stored. The checklist shows whether the gateway accepts them.",
				"stripe-connected":       "Stripe is connected. The checklist shows what is still missing.",
				"stripe-revoked":         "The webhook endpoint is replaced, and its former secrets have ended.",
				"stripe-rolled":          "The webhook endpoint is replaced. Its former secret stays valid for 24 hours.",
				"test-event-sent":        "A test event was sent. The checklist shows whether it has arrived.",
				"gateway-disconnected":   "The gateway is disconnected, and its credentials are deleted.",
				"notification-replayed":  "The notification is queued, and is processed again in a moment.",
				"operation-retried":      "What failed is tried again in a moment.",
				"pipeline-secret-ended":  "The secret is removed. Signatures of the pipeline are refused from now on.",
				"pipeline-mapping-saved": "The mapping is saved. It counts for messages from now on.",
			},
		},
	}
}

// subpage is one entry of the navigation within the section.
type subpage struct {
	Title, Path string
	Current     bool
}

// subpages returns the navigation within the section. path is the path of the page.
func subpages(tenant core.TenantAlias, path string) (all []subpage) {
	base := frame.Root + "/t/" + string(tenant) + "/integrations"
	path, _, _ = strings.Cut(path, "?")
	for _, s := range [][2]string{{"All", ""}, {"Gateway", "/gateway"}, {"Webhooks", "/webhooks"}, {"API keys", "/keys"}, {"Website", "/website"}, {"Pipeline", "/pipeline"}} {
		to := base + s[1]
		all = append(all, subpage{s[0], to, path == to || s[1] != "" && strings.HasPrefix(path, to+"/")})
	}
	return all
}

func shortcuts(v *frame.Visit) (all []frame.Shortcut, err error) {
	for _, s := range subpages(v.Caller.Tenant, "")[1:] {
		all = append(all, frame.Shortcut{Title: "Integrations: " + s.Title, Path: strings.TrimPrefix(s.Path, v.TenantPath()+"/integrations")})
	}
	return all, nil
}

// path returns the path of a page of the section.
func path(v *frame.Visit, below string) string { return v.SectionPath() + below }

// endpointID identifies an endpoint in the paths of pages. URLs of endpoints are long, and
// those of some tools are secret, so that they must not be in logs and histories.
func endpointID(e webhook.Endpoint) string {
	sum := sha256.Sum256([]byte(e))
	return hex.EncodeToString(sum[:8])
}

// days returns a span as whole days, or as hours if it is shorter.
func days(t core.Time) string {
	if t < core.Day {
		return frame.Plural(int(t/core.Hour), "hour", "hours")
	}
	return frame.Plural(int(t/core.Day), "day", "days")
}

// overview is the data of the first page.
type overview struct {
	Keys     auth.APIKeys
	Webhooks []admin.Webhook
	Website  admin.WebsiteSettings
	Secure   secureState
	Gateway  billing.Connection
	// Connected is true if the gateway is connected, and Provider its name. Parked has the
	// operations that failed, Unread the notifications that could not be read.
	Connected bool
	Provider  string
	Parked    []billing.Operation
	Unread    []billing.Received
	Pipeline  pipelines.Secrets
}

// LastUsed is when any key was last used, or zero.
func (o overview) LastUsed() (last core.Time) {
	for _, k := range o.Keys {
		last = max(last, k.Used)
	}
	return last
}

// CurrentKeys is the number of keys, without replaced secrets.
func (o overview) CurrentKeys() (n int) {
	for _, k := range o.Keys {
		if k.Replaced == 0 {
			n++
		}
	}
	return n
}

// FailedEvents is the number of failed deliveries, Troubled that of endpoints which fail
// or are disabled.
func (o overview) FailedEvents() (n int) {
	for _, w := range o.Webhooks {
		n += w.Failed
	}
	return n
}

func (o overview) Troubled() (n int) {
	for _, w := range o.Webhooks {
		if w.FailingSince != 0 || w.Disabled != 0 {
			n++
		}
	}
	return n
}

func startPage(v *frame.Visit) (err error) {
	a, o := &v.Engine.Admin, overview{}
	if o.Keys, err = v.Engine.APIKeys.List(v.Ctx(), v.Caller.Tenant); err != nil {
		return err
	}
	if o.Webhooks, err = a.Webhooks.List(v.Ctx(), v.Caller); err != nil {
		return err
	}
	if o.Website, err = a.Website.Read(v.Ctx(), v.Caller); err != nil {
		return err
	}
	o.Secure = secureStateOf(o.Website.Tenant.SecureMode)
	gateway, connection, connected, err := providerOf(v)
	if err != nil {
		return err
	}
	o.Provider, o.Gateway, o.Connected = gateway.Name, connection, connected
	if o.Parked, err = v.Engine.Operations.List(v.Ctx(), v.Caller.Tenant); err != nil {
		return err
	}
	if o.Unread, _, err = v.Engine.Notifications.List(v.Ctx(), v.Caller.Tenant, payments.NotificationFilter{Problem: true}); err != nil {
		return err
	}
	if o.Pipeline, err = v.Engine.Pipelines.Secrets(v.Ctx(), v.Caller.Tenant); err != nil {
		return err
	}
	return v.Page(http.StatusOK, "start", "Integrations", o)
}

// ConsentText says in a sentence when browsers store the cookie.
func (o overview) ConsentText() string { return consentText(o.Website.Tenant.Policy) }

func consentText(p link.Policy) string {
	switch p.Consent {
	case link.ConsentOptIn:
		return "A cookie is stored only after the visitor has agreed."
	case link.ConsentOptOut:
		return "A cookie is stored unless the visitor has refused."
	}
	return "A cookie is stored without asking."
}
