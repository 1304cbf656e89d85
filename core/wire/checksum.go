package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"kith/core"
)

// checksumSkips are the keys whose values a checksum does not cover (reference,
// 2.2). The browser script adds cookies to what the shop signed.
var checksumSkips = []string{"checksum", "cookies", "fb_share_image", "locale", "mode"}

// VerifyChecksum checks the checksum of the init call (reference, 2.2): base64 of
// HMAC-SHA256, keyed with the tenant's API key, over the values of the body's
// keys, one behind the other. Found is false when the body gives none, or is no
// object. A wrong one, one over a body that does not hold the ids of the path,
// and one over objects or lists are unauthenticated (RS006).
//
// It vouches for the user and for nothing else that the body says: with nothing
// between the values, several bodies have the same checksum, such as one whose
// e-mail address begins with PAID, and one with that account_status.
//
// Spec silent: "key order" is that of the keys' bytes, not of the body; the
// tenant_alias counts when the body has it; numbers, true and false count as they
// are written.
func VerifyChecksum(apiKey string, account core.AccountID, user core.UserID, body []byte) (found bool, err error) {
	if err := checkObject(body, MaxBody); err != nil {
		return false, nil
	}
	given := gjson.GetBytes(body, "checksum")
	if given.Type != gjson.String || given.String() == "" {
		return false, nil
	}
	text, ok := checksumText(body)
	switch {
	case !ok:
		return true, badChecksum("covers texts and numbers only")
	// The same key signs user tokens, and a token's signature is no checksum.
	case apiKey == "" || strings.HasPrefix(text, "eyJ") || !hmac.Equal([]byte(given.String()), []byte(checksum(apiKey, text))):
		return true, badChecksum("is not that of this body and this tenant's API key")
	}
	bodyAccount, bodyUser, err := ParseUserIDs(body)
	if err != nil || bodyAccount != account || bodyUser != user {
		return true, badChecksum("must cover the account_id and the user_id of the path")
	}
	return true, nil
}

// checksumText is what the checksum of a body is made of; ok is false when a
// value has no text of its own.
func checksumText(body []byte) (text string, ok bool) {
	values, keys := map[string]string{}, []string(nil)
	ok = true
	gjson.ParseBytes(body).ForEach(func(k, value gjson.Result) bool {
		key := k.String()
		switch {
		case value.Type == gjson.Null || slices.Contains(checksumSkips, key):
			return true
		case value.IsObject() || value.IsArray():
			ok = false
		case value.Type == gjson.String:
			values[key] = value.String()
		default:
			values[key] = value.Raw
		}
		keys = append(keys, key)
		return ok
	})
	slices.Sort(keys)
	var b strings.Builder
	for _, key := range keys {
		b.WriteString(values[key])
	}
	return b.String(), ok
}

func checksum(apiKey, text string) string {
	mac := hmac.New(sha256.New, []byte(apiKey))
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func badChecksum(reason string) *core.Error {
	return &core.Error{Code: core.CodeUnauthenticated, Field: "checksum", Message: reason, RS: "RS006"}
}
