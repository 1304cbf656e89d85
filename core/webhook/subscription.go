package webhook

import (
	"encoding/base64"
	"net/url"
	"strings"

	"kith/core"
)

// Bounds of subscriptions.
//
// Spec silent: the reference names none.
const (
	// MaxSubscriptions is the most endpoints that a tenant may have: every
	// event is sent to each.
	MaxSubscriptions = 20
	maxEndpoint      = 2048
	maxName          = 256
)

// Endpoint is the URL of a tenant's own system that events are posted to, as
// the tenant wrote it: two texts are two endpoints.
type Endpoint string

// ParseEndpoint returns s as an endpoint or an error about field: an absolute
// http or https URL of up to 2048 bytes without credentials and fragment. A
// live tenant's must be https, since events tell of persons, and its host must not be
// localhost or an address that nothing is sent to.
func ParseEndpoint(field, s string, live bool) (Endpoint, error) {
	u, err := url.Parse(s)
	switch {
	case len(s) > maxEndpoint:
		return "", core.Invalid(field, "must not be longer than 2048 bytes")
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || !visible(s):
		return "", core.Invalid(field, "must be an absolute http or https URL")
	case u.User != nil || strings.Contains(s, "#"):
		return "", core.Invalid(field, "must hold neither user and password nor a fragment")
	case live && u.Scheme != "https":
		return "", core.Invalid(field, "must be an https URL; only a test tenant may use http")
	case live && !publicHost(u.Hostname()):
		return "", core.Invalid(field, "must not be localhost or an address that is not public; give a host on the internet, or use a test tenant")
	}
	return Endpoint(s), nil
}

// visible reports whether a text has nothing but printable ASCII, as a URL
// must: anything else is percent-encoded.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// CheckName refuses a name for a subscription that is longer than 256 bytes.
func CheckName(field, name string) error {
	if len(name) > maxName {
		return core.Invalid(field, "must not be longer than 256 bytes")
	}
	return nil
}

// Subscription is an endpoint that a tenant wants events sent to (reference,
// 1.10).
type Subscription struct {
	Endpoint Endpoint
	// Name is the tenant's own note, or empty.
	Name string
	// Secret signs what is sent to the endpoint. It is only set where it was
	// just made, and cannot be read again.
	Secret  string
	Created core.Time
	// FailingSince is when the first attempt failed since the last that
	// succeeded; zero while the endpoint is well.
	FailingSince core.Time
	// Disabled is when the endpoint answered 410 Gone: from then on it gets no
	// events, until it is subscribed again.
	Disabled core.Time
}

// Secrets (Standard Webhooks 1.0.0, Signature scheme).
const (
	// SecretSize is how many random bytes make a secret.
	SecretSize = 32
	// SecretOverlap is how long a replaced secret signs along with the new one.
	//
	// Spec silent: a day is enough to carry a new secret to all receivers.
	SecretOverlap = core.Day

	secretPrefix = "whsec_"
)

// NewSecret writes random bytes as a secret that consumers' libraries take.
func NewSecret(raw [SecretSize]byte) string {
	return secretPrefix + base64.StdEncoding.EncodeToString(raw[:])
}

// SecretKey is the HMAC key of a secret that NewSecret wrote.
func SecretKey(secret string) ([]byte, error) {
	encoded, found := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !found || err != nil || len(key) == 0 {
		return nil, core.Invalid("secret", "is not whsec_ and base64")
	}
	return key, nil
}

// PublicKey is a key by which consumers verify X-Hook-JWS-RFC-7797: an RSA key
// with the exponent 65537.
type PublicKey struct {
	// ID is the "kid" of what the key signed.
	ID string
	// Modulus is in base64url.
	Modulus string
}

// Keys of the service.
const (
	// KeyPublished is how long a replaced key is still published: deliveries
	// that it signed are verified soon after they arrive.
	//
	// Spec silent: consumers keep keys for a day (reference, 7.6).
	KeyPublished = 7 * core.Day
	// MaxKeys is how many keys are published at most (reference, 7.6).
	MaxKeys = 5
)
