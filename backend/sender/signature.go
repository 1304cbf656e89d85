package sender

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" // #nosec G505 -- published libraries verify this header as HMAC-SHA-1
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"

	"kith/backend/app/webhooks"
	"kith/core"
	"kith/core/webhook"
	"kith/core/wire"
)

// Headers of a delivery: those of Standard Webhooks 1.0.0, and the two that existing
// consumers verify (clients 6.5.3, clients 6.5.5).
const (
	IDHeader        = "Webhook-Id"
	TimestampHeader = "Webhook-Timestamp"
	SignatureHeader = "Webhook-Signature"
	JWSHeader       = "X-Hook-Jws-Rfc-7797"
	LegacyHeader    = "X-Hook-Signature"
)

// sign sets the headers that prove the origin and the time of a body. A consumer can
// verify the JWS with the public key set, and the other signatures with its secret.
func sign(h http.Header, m webhooks.Sending, key webhooks.SigningKey, at core.Time) error {
	timestamp := strconv.FormatInt(int64(at/core.Second), 10)
	signatures := ""
	for i, secret := range m.Secrets {
		one, err := standard(secret, m.Event, timestamp, m.Body)
		if err != nil {
			return err
		}
		if i > 0 {
			signatures += " "
		}
		signatures += one
	}
	jws, err := detached(key, m.Body)
	if err != nil {
		return err
	}
	h.Set(IDHeader, m.Event)
	h.Set(TimestampHeader, timestamp)
	h.Set(SignatureHeader, signatures)
	h.Set(JWSHeader, jws)
	// A signature with an empty key proves nothing.
	if m.APIKey != "" {
		h.Set(LegacyHeader, legacy(m.APIKey, m.Body))
	}
	return nil
}

// standard returns a signature of Standard Webhooks: v1, HMAC-SHA256 of
// id.timestamp.body.
func standard(secret, id, timestamp string, body []byte) (string, error) {
	key, err := webhook.SecretKey(secret)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}

// detached returns an RS256 JWS without its payload, which is the body. Although the
// name of the header mentions RFC 7797, the body is signed in base64url, as in any
// JWS: consumers rebuild it that way (clients 7.6.1).
func detached(key webhooks.SigningKey, body []byte) (string, error) {
	encode := base64.RawURLEncoding.EncodeToString
	head := encode(wire.SignatureHead(key.ID))
	sum := sha256.Sum256([]byte(head + "." + encode(body)))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key.Private, crypto.SHA256, sum[:])
	return head + ".." + encode(signature), err
}

// legacy returns the base64 of the HMAC-SHA1 of a body with the tenant's API key.
func legacy(apiKey string, body []byte) string {
	mac := hmac.New(sha1.New, []byte(apiKey))
	mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
