package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"kith/core"
	"kith/core/referral"
)

// What a checksum covers, in this order, and what it passes over: nulls besides.
// The browser script adds cookies to what the shop signed.
var (
	checksumKeys = []string{
		"account_id", "account_status", "email", "first_name", "last_name", "payment_provider_id", "referral_code",
		"tenant_alias", "user_id", "user_image", "user_referral_code",
	}
	checksumSkips = []string{"checksum", "cookies", "fb_share_image", "locale", "mode"}
)

// VerifyChecksum checks the checksum of the init call (reference, 2.2), which a
// tenant has to switch on: base64 of HMAC-SHA256, keyed with a secret that signs the tenant's user tokens,
// over the values of checksumKeys, one behind the other. Found is false when the body
// gives none, or is no object. A wrong one, one of a body with any other key, and one
// that does not cover the ids of the path are unauthenticated (RS006).
//
// With nothing between the values, several bodies have the same checksum. So the
// body must have an account_status, and what is signed must hold the word of a status
// in no other place: that is where the account's id ends, and no other account's body
// has the same text. Nor does the checksum vouch for anything but the account and
// its user.
func VerifyChecksum(secrets []string, account core.AccountID, user core.UserID, body []byte) (found bool, err error) {
	if err := checkObject(body, MaxBody); err != nil {
		return false, nil
	}
	given := gjson.GetBytes(body, "checksum")
	if given.Type != gjson.String || given.String() == "" {
		return false, nil
	}
	values, err := checksumValues(body)
	if err != nil {
		return true, err
	}
	var text strings.Builder
	for _, key := range checksumKeys {
		text.WriteString(values[key])
	}
	switch {
	// The same key signs user tokens, and a token's signature is no checksum.
	case strings.HasPrefix(text.String(), "eyJ") || !slices.ContainsFunc(secrets, func(secret string) bool {
		return secret != "" && hmac.Equal([]byte(given.String()), []byte(checksum(secret, text.String())))
	}):
		return true, badChecksum("is not that of this body and a key of this tenant that signs user tokens")
	case values["account_id"] != string(account) || values["user_id"] != string(user):
		return true, badChecksum("must cover the account_id and the user_id of the path")
	case values["account_status"] == "" || statusWords(text.String()) != 1:
		return true, badChecksum("must cover an account_status, and no other value with PAID, TRIAL, FREE or CANCELLED in it")
	}
	return true, nil
}

// statusWords counts the statuses in a text.
func statusWords(text string) (n int) {
	for _, status := range []referral.Status{referral.Paid, referral.Trial, referral.Free, referral.Cancelled} {
		n += strings.Count(text, string(status))
	}
	return n
}

// checksumValues reads what the checksum of a body covers.
func checksumValues(body []byte) (values map[string]string, err error) {
	values = map[string]string{}
	gjson.ParseBytes(body).ForEach(func(k, value gjson.Result) bool {
		key := k.String()
		switch {
		case value.Type == gjson.Null || slices.Contains(checksumSkips, key):
		case !slices.Contains(checksumKeys, key):
			err = badChecksum("does not cover " + key + "; use a user token")
		case value.Type != gjson.String:
			err = badChecksum("covers texts only, and " + key + " is none")
		default:
			values[key] = value.String()
		}
		return err == nil
	})
	return values, err
}

func checksum(secret, text string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func badChecksum(reason string) *core.Error {
	return &core.Error{Code: core.CodeUnauthenticated, Field: "checksum", Message: reason, RS: "RS006"}
}
