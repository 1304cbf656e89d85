package braintree

import (
	"crypto/hmac"
	"crypto/sha1" // #nosec G505 -- the gateway's own scheme
	"encoding/hex"
	"errors"
	"hash"
	"strings"
)

// MaxPayload bounds bt_payload, in bytes. The subject of a notification is one
// subscription with at most 20 transactions, which takes tens of kilobytes.
const MaxPayload = 1 << 20

// maxSignature bounds bt_signature, in bytes. It has one pair of about 60 bytes for each
// API key of the merchant.
const maxSignature = 8 << 10

// maxPairs bounds the pairs of a bt_signature, since any client can send a request.
const maxPairs = 8

var (
	// ErrSignature reports a notification that none of the keys signed. The answer is
	// 401, never 2xx.
	ErrSignature = errors.New("gateway: the notification is not signed with a known key")
	// ErrChallenge reports a text that is not signed, since it does not have the form
	// of a challenge. The answer is 400.
	ErrChallenge = errors.New("gateway: not a challenge: want 20 to 32 characters of a-f 0-9")
)

// Key is one API key of a merchant.
type Key struct {
	// Public identifies the key; it is sent with every call and every signature.
	Public string
	// Private is the secret. It leaves the service only as the password of a call.
	Private string
}

// Sign returns the gateway's signature of a text, in lower-case hex: HMAC-SHA1 under the
// SHA-1 of the private key (gateway 1.1.4).
func (k Key) Sign(text string) string { return hex.EncodeToString(k.mac(text).Sum(nil)) }

func (k Key) mac(text string) hash.Hash {
	key := sha1.Sum([]byte(k.Private)) // #nosec G401 -- the gateway's own scheme: HMAC-SHA-1 under the SHA-1 of the key
	mac := hmac.New(sha1.New, key[:])
	mac.Write([]byte(text))
	return mac
}

// Keys are the API keys of one connection, the current one first. Several may be valid
// at a time, so that a key can be replaced without a gap.
type Keys []Key

// Verify returns nil if one of the keys signed payload, and ErrSignature otherwise.
// payload is the text of bt_payload with its line breaks; the last one may be missing.
// signature is the text of bt_signature. The payload is hashed at most once for each
// key, however many pairs the signature has.
//
// A challenge is refused, although its answer is its valid signature: otherwise a client
// that requests answers could fill the store with them.
func (ks Keys) Verify(signature, payload string) error {
	if isChallenge(payload) || len(signature) > maxSignature || len(payload) > MaxPayload || payload == "" || !payloadAlphabet(payload) {
		return ErrSignature
	}
	pairs := strings.Split(signature, "&")
	if len(pairs) > maxPairs {
		return ErrSignature
	}
	for _, k := range ks {
		var sums []string
		for _, pair := range pairs {
			if public, sum, _ := strings.Cut(pair, "|"); public == k.Public {
				sums = append(sums, sum)
			}
		}
		if k.Private != "" && len(sums) > 0 && k.signed(sums, payload) {
			return nil
		}
	}
	return ErrSignature
}

// signed reports whether one of the sums is that of the payload, or that of the payload
// followed by a line break.
func (k Key) signed(sums []string, payload string) bool {
	mac := k.mac(payload)
	whole := []byte(hex.EncodeToString(mac.Sum(nil)))
	mac.Write([]byte{'\n'})
	trimmed := []byte(hex.EncodeToString(mac.Sum(nil)))
	for _, sum := range sums {
		if hmac.Equal([]byte(sum), whole) || hmac.Equal([]byte(sum), trimmed) {
			return true
		}
	}
	return false
}

// payloadAlphabet reports whether a payload consists of base64 and line breaks. A
// carriage return is refused, as in the official SDKs: the gateway sends none.
func payloadAlphabet(payload string) bool {
	for i := range len(payload) {
		switch c := payload[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '+', c == '/', c == '=', c == '\n':
		default:
			return false
		}
	}
	return true
}

// AnswerChallenge returns the answer to bt_challenge, which proves to the gateway that
// the service has the key when a destination is registered. The first key signs it.
//
// The same key signs payloads, so an endpoint that signed any text would sign forged
// notifications. A text of the form of a challenge is never a notification: decoded, it
// is not XML (gateway 1.4.2).
func (ks Keys) AnswerChallenge(challenge string) (string, error) {
	if len(ks) == 0 || ks[0].Private == "" || !isChallenge(challenge) {
		return "", ErrChallenge
	}
	return ks[0].Public + "|" + ks[0].Sign(challenge), nil
}

func isChallenge(s string) bool {
	if len(s) < 20 || len(s) > 32 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'f') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
