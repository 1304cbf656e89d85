package gateway

import (
	"crypto/hmac"
	"crypto/sha1" // #nosec G505 -- the gateway's own scheme
	"encoding/hex"
	"errors"
	"hash"
	"strings"
)

// MaxPayload bounds bt_payload, in bytes. The subject of a notification is one
// subscription with at most 20 transactions: some tens of kilobytes.
const MaxPayload = 1 << 20

// maxSignature bounds bt_signature: one pair of some 60 bytes for each API key
// of the merchant.
const maxSignature = 8 << 10

// maxPairs bounds the pairs of a bt_signature. Anybody can send some.
const maxPairs = 8

var (
	// ErrSignature is a notification that none of the keys signed. It is
	// answered 401, never 2xx.
	ErrSignature = errors.New("gateway: the notification is not signed with a known key")
	// ErrChallenge is a challenge that is not signed, since it could be
	// something else than a challenge. It is answered 400.
	ErrChallenge = errors.New("gateway: a challenge is 20 to 32 of a-f 0-9")
)

// Key is one API key of a merchant.
type Key struct {
	// Public names the key; it is sent with every call and every signature.
	Public string
	// Private signs. It never leaves the service but as a password of a call.
	Private string
}

// Sign is how the gateway signs, as lower hex: HMAC-SHA1 under the SHA-1 of the
// private key (reference, 1.1).
func (k Key) Sign(text string) string { return hex.EncodeToString(k.mac(text).Sum(nil)) }

func (k Key) mac(text string) hash.Hash {
	key := sha1.Sum([]byte(k.Private)) // #nosec G401 -- the gateway's own scheme: HMAC-SHA-1 under the SHA-1 of the key
	mac := hmac.New(sha1.New, key[:])
	mac.Write([]byte(text))
	return mac
}

// Keys are the API keys of one connection, the one in use first. Several may
// be good at a time, so that a key can be replaced without a gap.
type Keys []Key

// Verify returns nil when one of the keys signed payload, the text of
// bt_payload as it arrived with its line breaks; signature is the text of
// bt_signature. A payload whose last line break was trimmed on its way passes
// too. All other cases are ErrSignature. However many pairs there are, the payload is
// hashed at most once for each of the keys.
//
// A challenge is no payload, though its answer is its signature: whoever asks for
// answers would fill the store with them.
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

// signed reports whether one of the sums is that of the payload, or of the payload
// with a line break behind it.
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

// payloadAlphabet is base64 with line breaks. A carriage return is refused, as
// the official SDKs do: the gateway sends none.
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

// AnswerChallenge returns the body that proves to the gateway that the service
// has the key: the answer to bt_challenge when a destination is registered.
//
// What is signed here is signed with the key that signs payloads, so that an
// endpoint which signs any text would sign forged notifications for anybody.
// A text of this form is no notification: decoded, it is no XML (reference,
// 1.4). The first key answers.
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
