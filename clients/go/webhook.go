package kith

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Webhook is an event that Kith sends to your server.
type Webhook struct {
	// ID is the id of the event. An event may be sent several times: handle each id once.
	ID string `json:"id"`
	// Type is the type of the event, such as user.created. Ignore types that you do not
	// know.
	Type string `json:"type"`
	// TenantAlias is the tenant of the event.
	TenantAlias string `json:"tenantAlias"`
	// Live is false for a test tenant.
	Live bool `json:"live"`
	// Created is when it happened, in epoch milliseconds.
	Created int64 `json:"created"`
	// Subject is what the event is about, such as referral/ID. Webhooks arrive in any
	// order.
	Subject string `json:"subject"`
	// Sequence orders the events of a subject: ignore one that has a lower number than
	// one that you have handled, unless you need each.
	Sequence int64 `json:"sequence"`
	// Data depends on the type.
	Data json.RawMessage `json:"data"`
}

// WebhookTolerance is how much the time of a webhook may differ from the clock.
const WebhookTolerance = 5 * time.Minute

// ErrSignature is the error for a webhook that is not from Kith: answer it with 401.
var ErrSignature = errors.New("kith: the signature of the webhook is not valid")

// VerifyWebhook verifies the headers of a webhook (Standard Webhooks) with the secret of
// your subscription, and parses the body. body must be the bytes as received. Limit their
// number when you read them, for example with http.MaxBytesReader.
func VerifyWebhook(secret string, header http.Header, body []byte) (Webhook, error) {
	return verifyWebhook(secret, header, body, time.Now())
}

func verifyWebhook(secret string, header http.Header, body []byte, now time.Time) (w Webhook, err error) {
	encoded, found := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !found || err != nil || len(key) == 0 {
		return w, errors.New("kith: secret: not a secret of a subscription; give whsec_ and what follows")
	}
	id, timestamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || id == "" {
		return w, fmt.Errorf("%w: it has no Webhook-Id or Webhook-Timestamp", ErrSignature)
	}
	if off := now.Sub(time.Unix(seconds, 0)); off > WebhookTolerance || off < -WebhookTolerance {
		return w, fmt.Errorf("%w: its time differs from the clock by %v", ErrSignature, off.Round(time.Second))
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	want := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	valid := false
	for _, signature := range strings.Fields(header.Get("Webhook-Signature")) {
		valid = valid || hmac.Equal([]byte(signature), want)
	}
	if !valid {
		return w, ErrSignature
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return w, fmt.Errorf("kith: the body of the webhook: %w", err)
	}
	return w, nil
}
