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

// Keys that a checksum covers, in this order, and keys that it skips. It also skips
// nulls. The browser script adds cookies to the body that the shop signed.
var (
	checksumKeys = []string{
		"account_id", "account_status", "email", "first_name", "last_name", "payment_provider_id", "referral_code",
		"tenant_alias", "user_id", "user_image", "user_referral_code",
	}
	checksumSkips = []string{"checksum", "cookies", "fb_share_image", "locale", "mode"}
)

// VerifyChecksum verifies the checksum of the init call (clients 2.2.8), which a
// tenant must enable: base64 of HMAC-SHA256 over the concatenated values of
// checksumKeys, under a secret that signs the tenant's user tokens. found is false if
// the body has no checksum or is not an object. The error is unauthenticated (RS006)
// if the checksum is wrong, the body has other keys, or the checksum does not cover
// the ids in the path.
//
// Because values have no separator, several bodies can have the same checksum. So the
// body must have an account_status, and the signed text must not contain a status
// anywhere else: then the status marks the end of the account's id, and no body of
// another account has the same text. The checksum authenticates only the account and
// its user.
func VerifyChecksum(secrets []string, account core.AccountID, user core.UserID, body []byte) (found bool, err error) {
	if err := checkObject(body, MaxBody); err != nil {
		return false, nil
	}
	given := member(gjson.ParseBytes(body), "checksum")
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
	// The same key signs user tokens; the signature of a token must not be accepted
	// as a checksum.
	case strings.HasPrefix(text.String(), "eyJ") || !slices.ContainsFunc(secrets, func(secret string) bool {
		return secret != "" && hmac.Equal([]byte(given.String()), []byte(checksum(secret, text.String())))
	}):
		return true, badChecksum("does not match the body; compute it with a key of this tenant that signs user tokens")
	case values["account_id"] != string(account) || values["user_id"] != string(user):
		return true, badChecksum("must cover the account_id and the user_id of the path")
	case values["account_status"] == "" || statusWords(text.String()) != 1:
		return true, badChecksum("must cover an account_status, and no other value that contains PAID, TRIAL, FREE or CANCELLED")
	}
	return true, nil
}

// statusWords returns the number of statuses that a text contains.
func statusWords(text string) (n int) {
	for _, status := range []referral.Status{referral.Paid, referral.Trial, referral.Free, referral.Cancelled} {
		n += strings.Count(text, string(status))
	}
	return n
}

// checksumValues returns the values that the checksum of a body covers.
func checksumValues(body []byte) (values map[string]string, err error) {
	values = map[string]string{}
	gjson.ParseBytes(body).ForEach(func(k, value gjson.Result) bool {
		key := k.String()
		switch {
		case value.Type == gjson.Null || slices.Contains(checksumSkips, key):
		case !slices.Contains(checksumKeys, key):
			err = badChecksum("does not cover " + key + "; use a user token")
		case value.Type != gjson.String:
			err = badChecksum("covers only strings, and " + key + " is not a string")
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

// sameValue reports whether two JSON values are equal: numbers by their exact value,
// strings by their characters, arrays by element, and objects in any order of keys. A
// key with the value null is the same as an absent key. An object with a duplicate
// key is not equal to any value.
//
// The cost depends on signed, because value may be a thousand times as large.
func sameValue(signed, value gjson.Result) bool {
	switch {
	case signed.IsObject():
		return value.IsObject() && sameObject(signed, value)
	case signed.IsArray():
		return value.IsArray() && sameArray(signed, value)
	case signed.Type != value.Type:
		return false
	case signed.Type == gjson.Number:
		return sameNumber(signed.Raw, value.Raw)
	case signed.Type == gjson.String:
		return signed.String() == value.String()
	}
	return true
}

func sameArray(signed, value gjson.Result) bool {
	a := signed.Array()
	i, same := 0, true
	value.ForEach(func(_, element gjson.Result) bool {
		same = i < len(a) && sameValue(a[i], element)
		i++
		return same
	})
	return same && i == len(a)
}

func sameObject(signed, value gjson.Result) bool {
	missing := map[string]gjson.Result{}
	same := true
	signed.ForEach(func(key, member gjson.Result) bool {
		_, twice := missing[key.String()]
		same = !twice
		if member.Type != gjson.Null {
			missing[key.String()] = member
		}
		return same
	})
	value.ForEach(func(key, member gjson.Result) bool {
		if member.Type == gjson.Null || !same {
			return same
		}
		want, found := missing[key.String()]
		same = found && sameValue(want, member)
		delete(missing, key.String())
		return same
	})
	return same && len(missing) == 0
}

// sameSet reports whether two arrays of strings have the same elements, ignoring
// order and duplicates. Other values are compared by sameValue.
func sameSet(signed, value gjson.Result) bool {
	if !texts(signed) || !texts(value) {
		return sameValue(signed, value)
	}
	found := map[string]bool{}
	signed.ForEach(func(_, element gjson.Result) bool {
		found[element.String()] = false
		return true
	})
	same := true
	value.ForEach(func(_, element gjson.Result) bool {
		_, same = found[element.String()]
		found[element.String()] = true
		return same
	})
	for _, there := range found {
		same = same && there
	}
	return same
}

// texts reports whether a value is an array of strings.
func texts(v gjson.Result) bool {
	ok := v.IsArray()
	v.ForEach(func(_, element gjson.Result) bool {
		ok = ok && element.Type == gjson.String
		return ok
	})
	return ok
}
