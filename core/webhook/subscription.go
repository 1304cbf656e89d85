package webhook

import (
	"encoding/base64"
	"net/url"
	"strings"

	"kith/core"
)

// Limits of subscriptions.
//
// Spec silent: none are published.
const (
	// MaxSubscriptions is the most endpoints of a tenant. Every event is sent to each
	// of them.
	MaxSubscriptions = 20
	maxEndpoint      = 2048
	maxName          = 256
)

// Endpoint is the URL of a tenant's system to which events are posted, as the tenant
// wrote it. URLs with different spellings are different endpoints.
type Endpoint string

// ParseEndpoint returns s as an endpoint or an error about field: an absolute http or
// https URL of up to 2048 bytes without credentials and fragment. For a live tenant
// it must be https, because events contain personal data, and its host must not be
// localhost or a non-public address.
func ParseEndpoint(field, s string, live bool) (Endpoint, error) {
	u, err := url.Parse(s)
	switch {
	case len(s) > maxEndpoint:
		return "", core.Invalid(field, "must not be longer than 2048 bytes")
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || !visible(s):
		return "", core.Invalid(field, "must be an absolute http or https URL")
	case u.User != nil || strings.Contains(s, "#"):
		return "", core.Invalid(field, "must not have a user, a password or a fragment")
	case live && u.Scheme != "https":
		return "", core.Invalid(field, "must be an https URL; only a test tenant may use http")
	case live && !publicHost(u.Hostname()):
		return "", core.Invalid(field, "must not be localhost or an address that is not public; give a host on the internet, or use a test tenant")
	}
	return Endpoint(s), nil
}

// visible reports whether a text has only printable ASCII without blanks, as a URL
// must.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// CheckName returns an error if a subscription's name is longer than 256 bytes.
func CheckName(field, name string) error {
	if len(name) > maxName {
		return core.Invalid(field, "must not be longer than 256 bytes")
	}
	return nil
}

// Request is a request to subscribe an endpoint, which is not checked yet.
type Request struct {
	Endpoint, Name string
	// Types are the types of the events that the endpoint is to get; empty means all,
	// and nil those of its subscription, or all if it is new.
	Types []Type
}

// Subscription is an endpoint that a tenant subscribed to events (clients 1.10).
type Subscription struct {
	Endpoint Endpoint
	// Name is the tenant's own description, or empty.
	Name string
	// Types are the types of the events that the endpoint gets; empty means all.
	Types []Type
	// Secret signs the events for the endpoint. It is set only in the result of
	// creating it, and cannot be read later.
	Secret  string
	Created core.Time
	// FailingSince is the time of the first failed attempt after the last successful
	// one; zero if the last attempt succeeded.
	FailingSince core.Time
	// Tried is true if an attempt within the last Kept has ended. If it is false, nothing is
	// known of the endpoint.
	Tried bool
	// Disabled is when the endpoint responded with 410 Gone; zero if it did not. It
	// gets no events until it is subscribed again.
	Disabled core.Time
}

// Secrets (Standard Webhooks 1.0.0, Signature scheme).
const (
	// SecretSize is the number of random bytes of a secret.
	SecretSize = 32
	// SecretOverlap is how long events are also signed with a replaced secret.
	//
	// Spec silent: a day is enough to deploy a new secret to all receivers.
	SecretOverlap = core.Day

	secretPrefix = "whsec_"
)

// NewSecret returns random bytes as a secret in the form that Standard Webhooks
// libraries accept.
func NewSecret(raw [SecretSize]byte) string {
	return secretPrefix + base64.StdEncoding.EncodeToString(raw[:])
}

// SecretKey returns the HMAC key of a secret from NewSecret.
func SecretKey(secret string) ([]byte, error) {
	encoded, found := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !found || err != nil || len(key) == 0 {
		return nil, core.Invalid("secret", "must be whsec_ followed by base64")
	}
	return key, nil
}

// PublicKey is a key with which consumers verify X-Hook-JWS-RFC-7797: an RSA key with
// the exponent 65537.
type PublicKey struct {
	// ID is the "kid" in the signatures of the key.
	ID string
	// Modulus is the modulus in base64url.
	Modulus string
}

// Limits of the service's keys.
const (
	// KeyPublished is how long a replaced key is still published, so that consumers
	// can verify the deliveries that it signed.
	//
	// Spec silent: consumers cache keys for a day (clients 7.6.1).
	KeyPublished = 7 * core.Day
	// MaxKeys is the most keys that are published (clients 7.6.1).
	MaxKeys = 5
)
