package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"kith/core"
	"kith/core/auth"
	"kith/core/referral"
)

// maxToken is the most bytes of a user token, enough for all fields of a user.
const maxToken = 16 << 10

// Subject is the user of a verified user token.
type Subject struct {
	Account core.AccountID
	User    core.UserID
	// Signed is the token's user claim, a JSON object; empty if the token has only
	// sub.
	Signed string
}

// VerifyToken verifies a user JWT (clients 2.2.1). It must be signed with HS256
// under one of the secrets that sign the tenant's tokens (see auth.APIKeys.Signing),
// and not be expired. A token without exp is refused, unless undated is true: then it
// is valid for UndatedLife after its iat or, without iat, always. The error is for the
// caller; see IsUndated.
func VerifyToken(tenant core.TenantAlias, secrets []string, token string, now core.Time, undated bool) (Subject, error) {
	claims, err := verifiedClaims(secrets, token, now, undated)
	if err != nil {
		return Subject{}, err
	}
	return subject(tenant, claims)
}

// AllowsAnonymous verifies a token like VerifyToken, and reports whether it admits a
// user without ids: its claims are {"allowAnonymous":true} (clients 2.2.6). Such a
// token has no user.
func AllowsAnonymous(secrets []string, token string, now core.Time, undated bool) (bool, error) {
	claims, err := verifiedClaims(secrets, token, now, undated)
	return err == nil && member(gjson.Parse(claims), "allowAnonymous").Type == gjson.True, err
}

// verifiedClaims returns the claims of a token that is signed with one of the secrets
// and valid at now.
func verifiedClaims(secrets []string, token string, now core.Time, undated bool) (string, error) {
	signed, mac, ok := cutLast(token, '.')
	head, payload, ok2 := strings.Cut(signed, ".")
	if !ok || !ok2 || len(token) > maxToken {
		return "", badToken("is not a JWT")
	}
	text, err := segment(head)
	header := gjson.Parse(text)
	// Only HS256 is accepted; the header must not select another algorithm.
	if err != nil || member(header, "alg").String() != "HS256" || member(header, "crit").Exists() {
		return "", badToken("must be signed with HS256, without crit")
	}
	if !slices.ContainsFunc(secrets, func(secret string) bool { return signedBy(secret, signed, mac) }) {
		return "", badToken("is not signed with a key of this tenant that signs user tokens")
	}
	claims, err := segment(payload)
	if err != nil {
		return "", badToken("is not a JWT")
	}
	if keyTwice(gjson.Parse(claims)) {
		return "", badToken("has a duplicate claim")
	}
	return claims, checkTimes(claims, now, undated)
}

// keyTwice reports whether an object in v has a duplicate key, at any depth.
func keyTwice(v gjson.Result) (twice bool) {
	seen := map[string]bool{}
	v.ForEach(func(key, value gjson.Result) bool {
		twice = v.IsObject() && seen[key.String()] || value.IsObject() && keyTwice(value) || value.IsArray() && keyTwice(value)
		seen[key.String()] = true
		return !twice
	})
	return twice
}

// UndatedLife is how long a token without exp is valid after its iat, if the tenant
// accepts such tokens.
const UndatedLife = core.Day

const noExp = "has no exp; add the time at which it expires, in seconds, or accept such tokens: kith tenant set --undated-tokens on"

// IsUndated reports whether a token was refused only because the tenant does not accept
// tokens without exp.
func IsUndated(err error) bool {
	var e *core.Error
	return errors.As(err, &e) && e.Message == noExp
}

// maxExp is the last exp, in milliseconds: the year 5138. A token whose exp is written in
// milliseconds has a later one.
const maxExp = 1e14

func checkTimes(claims string, now core.Time, undated bool) error {
	expires, dated, err := seconds(claims, "exp")
	if err != nil {
		return err
	}
	begins, bounded, err := seconds(claims, "nbf")
	if err != nil {
		return err
	}
	if !dated && !undated {
		return badToken(noExp)
	}
	if !dated {
		issued, known, err := seconds(claims, "iat")
		if err != nil {
			return err
		}
		if issued > float64(now+core.Minute) {
			return badToken("has an iat in the future")
		}
		expires, dated = issued+float64(UndatedLife), known
	}
	switch {
	case !dated:
	case expires > maxExp:
		return badToken("has an exp after the year 5138; if it is in milliseconds, divide it by 1000")
	case expires <= float64(now):
		return badToken("has expired")
	}
	if bounded && begins > float64(now+core.Minute) {
		return badToken("is not valid yet")
	}
	return nil
}

// seconds returns a claim that is a time in seconds, in milliseconds. It is a
// float64, because a large number would overflow an integer.
func seconds(claims, name string) (at float64, found bool, err error) {
	claim := member(gjson.Parse(claims), name)
	switch claim.Type {
	case gjson.Null:
		return 0, false, nil
	case gjson.Number:
		return claim.Float() * float64(core.Second), true, nil
	}
	return 0, false, badToken("has an " + name + " that is not a number of seconds")
}

// subject returns the user of a token, from the user claim, or from sub in the form
// {account}:{user}@{tenant}:users.
func subject(tenant core.TenantAlias, claims string) (Subject, error) {
	var s Subject
	var account, user string
	if claim := member(gjson.Parse(claims), "user"); claim.IsObject() {
		account, user = member(claim, "accountId").String(), member(claim, "id").String()
		s.Signed = claim.Raw
	} else {
		sub, found := strings.CutSuffix(member(gjson.Parse(claims), "sub").String(), "@"+string(tenant)+":users")
		if !found {
			return Subject{}, badToken("has no user of this tenant; add a user claim")
		}
		// With two colons it would be ambiguous.
		if strings.Count(sub, ":") != 1 {
			return Subject{}, badToken("has a sub that is not account:user@" + string(tenant) + ":users; ids with a colon go into the user claim")
		}
		account, user, _ = strings.Cut(sub, ":")
	}
	var err error
	if s.Account, err = core.ParseAccountID("", account); err != nil {
		return Subject{}, badToken("has no valid account id")
	}
	if s.User, err = core.ParseUserID("", user); err != nil {
		return Subject{}, badToken("has no valid user id")
	}
	return s, nil
}

// SignToken returns a user JWT for a subject. It expires at the given time; zero
// means never. s.Signed must be empty or a JSON object.
func SignToken(secret string, s Subject, expires core.Time) string {
	w := begin(nil)
	if s.Signed != "" {
		w.raw("user", s.Signed)
	} else {
		w.object("user", func() {
			w.text("id", string(s.User))
			w.text("accountId", string(s.Account))
		})
	}
	if expires != 0 {
		w.number("exp", int64(expires/core.Second))
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode(w.end())
	return signed + "." + tokenMAC(secret, signed)
}

// Vouched returns an update without the fields that its caller may not set. body is
// the body that ParseUser parsed. s is the subject of the caller's token; zero for a
// call without a token. Do not use it for calls with the API key, which may set all
// fields.
//
// A key that body and token both have, in any of its spellings, must have the same
// value: see sameValue, and sameSet for keys whose elements are a set. Custom fields
// and segments are then taken from the token, because a body may differ in nulls and
// in the order of operations. The key "cookies", which the browser SDK adds to a
// signed user, is exempt (clients 2.2.4). Codes and share links of a user, for which
// rewards are given, must be signed. Other keys that affect rewards count only if
// they are signed; left has the unsigned ones that were removed. An unsigned status
// is only reported (see referral.Account.Report), unless the tenant accepts it
// (auth.PaymentAny) and there is no token, or one that has only the ids.
func Vouched(u referral.UserUpdate, s Subject, body []byte, payment auth.BrowserPayment) (vouched referral.UserUpdate, left []string, err error) {
	payable := payment == auth.PaymentAny && signsIDsOnly(s.Signed)
	gjson.ParseBytes(body).ForEach(func(k, value gjson.Result) bool {
		key := k.String()
		signed := signedValue(s.Signed, restName(key))
		switch {
		case key == "cookies" || value.Type == gjson.Null:
		case signed.Exists() && !agrees(key, signed, value):
			err = &core.Error{Code: core.CodeForbidden, Field: key, Message: "is not the value in the user token; send the signed value"}
		case signed.Exists():
			takeSigned(&u, key, signed)
		case mustBeSigned(key) || restName(key) == "shareLinks" && len(u.Links) > 0:
			err = &core.Error{Code: core.CodeForbidden, Field: key, Message: "must be signed in the user token"}
		case leaveOut(&u, key, value, payable):
			left = append(left, key)
		}
		return err == nil
	})
	return u, left, err
}

// agrees reports whether the value of a key is equal to the signed one.
func agrees(key string, signed, value gjson.Result) bool {
	switch restName(key) {
	case "segments", "referredByCodes":
		return sameSet(signed, value)
	}
	return sameValue(signed, value)
}

// takeSigned replaces fields of an update by the signed ones, where values that agree
// can have different effects.
func takeSigned(u *referral.UserUpdate, key string, signed gjson.Result) {
	switch restName(key) {
	case "segments":
		u.Segments = Texts(signed.Raw)
	case "customFields":
		u.CustomFields = nil
		signed.ForEach(func(name, value gjson.Result) bool {
			u.CustomFields = append(u.CustomFields, referral.CustomField{Name: name.String(), Value: value.Raw})
			return true
		})
	}
}

// leaveOut removes the field of an unsigned key that may not be set, and reports
// whether it did.
func leaveOut(u *referral.UserUpdate, key string, value gjson.Result, payable bool) bool {
	switch restName(key) {
	case "accountStatus":
		return u.Status != nil && !payable && reported(u)
	case "referredBy":
		return member(value, "isConverted").Bool() && u.Status != nil && !payable && reported(u)
	case "paymentProviderId":
		u.PaymentProviderID = nil
	case "segments":
		u.Segments = nil
	case "referable":
		u.Referable = nil
	case "customFields":
		u.CustomFields = nil
	case "dateUsTaxFormSubmitted":
		u.USTaxForm = nil
	default:
		return false
	}
	return true
}

// reported turns a status into a reported one, and reports whether it would have had
// an effect.
func reported(u *referral.UserUpdate) bool {
	u.Status, u.Reported = nil, u.Status
	return *u.Reported == referral.Paid || *u.Reported == referral.Cancelled
}

// signsIDsOnly reports whether a user claim has only the ids.
func signsIDsOnly(signed string) bool {
	only := true
	gjson.Parse(signed).ForEach(func(key, _ gjson.Result) bool {
		name := restName(key.String())
		only = name == "id" || name == "accountId"
		return only
	})
	return only
}

// signedValue returns the signed value of a key of the REST call.
func signedValue(signed, name string) (value gjson.Result) {
	gjson.Parse(signed).ForEach(func(key, v gjson.Result) bool {
		if restName(key.String()) == name {
			value = v
		}
		return !value.Exists()
	})
	return value
}

func mustBeSigned(key string) bool {
	name := restName(key)
	return name == "referralCodes" || name == "referralCode"
}

func segment(s string) (string, error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || tooDeep(raw) || !gjson.ValidBytes(raw) {
		return "", badToken("is not a JWT")
	}
	return string(raw), nil
}

// signedBy reports whether mac is the signature under a secret. It is false for an
// empty secret.
func signedBy(secret, signed, mac string) bool {
	return secret != "" && hmac.Equal([]byte(mac), []byte(tokenMAC(secret, signed)))
}

// tokenMAC returns the signature of a token, its third part. Compare the encoded
// texts, because base64 has several texts for the same bytes.
func tokenMAC(secret, signed string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(signed))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

func badToken(reason string) *core.Error {
	return &core.Error{Code: core.CodeUnauthenticated, Field: "user token", Message: reason, RS: "RS032"}
}
