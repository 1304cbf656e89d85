package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"kith/core"
	"kith/core/auth"
	"kith/core/referral"
)

// maxToken bounds a user token in bytes; a whole user fits.
const maxToken = 16 << 10

// Subject is whom a verified user token speaks for.
type Subject struct {
	Account core.AccountID
	User    core.UserID
	// Signed is the token's user claim, a JSON object, or empty when the token
	// names its user by sub alone.
	Signed string
}

// VerifyToken checks a user JWT (reference, 2.2): HS256 and nothing else, keyed
// with one of the secrets that sign the tenant's tokens (see auth.APIKeys.Signing), and
// not expired. A token without exp is refused, or, when the tenant takes undated ones,
// good for UndatedLife after its iat. The error is the caller's to see and does not tell
// which check failed first beyond what helps an honest integrator.
func VerifyToken(tenant core.TenantAlias, secrets []string, token string, now core.Time, undated bool) (Subject, error) {
	claims, err := verifiedClaims(secrets, token, now, undated)
	if err != nil {
		return Subject{}, err
	}
	return subject(tenant, claims)
}

// AllowsAnonymous reports whether a token, which is checked as VerifyToken does,
// admits a user who has no ids yet: its claims are {"allowAnonymous":true}
// (reference, 2.2). It speaks for nobody.
func AllowsAnonymous(secrets []string, token string, now core.Time, undated bool) (bool, error) {
	claims, err := verifiedClaims(secrets, token, now, undated)
	return err == nil && gjson.Get(claims, "allowAnonymous").Type == gjson.True, err
}

// verifiedClaims returns the claims of a token that one of the secrets signed and that
// is good now.
func verifiedClaims(secrets []string, token string, now core.Time, undated bool) (string, error) {
	signed, mac, ok := cutLast(token, '.')
	head, payload, ok2 := strings.Cut(signed, ".")
	if !ok || !ok2 || len(token) > maxToken {
		return "", badToken("is not a JWT")
	}
	header, err := segment(head)
	// The algorithm is ours to say; the header may only agree.
	if err != nil || gjson.Get(header, "alg").String() != "HS256" {
		return "", badToken("must be signed with HS256")
	}
	if !slices.ContainsFunc(secrets, func(secret string) bool { return signedBy(secret, signed, mac) }) {
		return "", badToken("is not signed with a key of this tenant that signs user tokens")
	}
	claims, err := segment(payload)
	if err != nil {
		return "", badToken("is not a JWT")
	}
	if keyTwice(gjson.Parse(claims)) {
		return "", badToken("has a claim twice, and readers would differ in which one counts")
	}
	return claims, checkTimes(claims, now, undated)
}

// keyTwice reports whether an object in v has a key twice, however deep.
func keyTwice(v gjson.Result) (twice bool) {
	seen := map[string]bool{}
	v.ForEach(func(key, value gjson.Result) bool {
		twice = v.IsObject() && seen[key.String()] || value.IsObject() && keyTwice(value) || value.IsArray() && keyTwice(value)
		seen[key.String()] = true
		return !twice
	})
	return twice
}

// UndatedLife is how long a token without exp is good for after its iat, where a
// tenant takes such tokens.
const UndatedLife = core.Day

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
		return badToken("has no exp: sign the time in seconds at which it expires")
	}
	if !dated {
		issued, known, err := seconds(claims, "iat")
		if err != nil {
			return err
		}
		if !known {
			return badToken("has neither exp nor iat")
		}
		if issued > float64(now+core.Minute) {
			return badToken("has an iat that is yet to come")
		}
		expires = issued + float64(UndatedLife)
	}
	switch {
	case expires <= float64(now):
		return badToken("has expired")
	case bounded && begins > float64(now+core.Minute):
		return badToken("is not valid yet")
	}
	return nil
}

// seconds reads a claim that is a time, in milliseconds. It stays a float: as an
// integer a huge one would wrap around.
func seconds(claims, name string) (at float64, found bool, err error) {
	claim := gjson.Get(claims, name)
	switch claim.Type {
	case gjson.Null:
		return 0, false, nil
	case gjson.Number:
		return claim.Float() * float64(core.Second), true, nil
	}
	return 0, false, badToken("has an " + name + " that is not a number of seconds")
}

// subject reads who the token is for: the user claim, or sub in the form
// {account}:{user}@{tenant}:users.
func subject(tenant core.TenantAlias, claims string) (Subject, error) {
	var s Subject
	var account, user string
	if claim := gjson.Get(claims, "user"); claim.IsObject() {
		account, user = claim.Get("accountId").String(), claim.Get("id").String()
		s.Signed = claim.Raw
	} else {
		sub, found := strings.CutSuffix(gjson.Get(claims, "sub").String(), "@"+string(tenant)+":users")
		if !found {
			return Subject{}, badToken("names no user of this tenant")
		}
		// With two colons it could be one of two users.
		if strings.Count(sub, ":") != 1 {
			return Subject{}, badToken("has a sub that is not account:user@" + string(tenant) + ":users; ids with a colon go into the user claim")
		}
		account, user, _ = strings.Cut(sub, ":")
	}
	var err error
	if s.Account, err = core.ParseAccountID("", account); err != nil {
		return Subject{}, badToken("names no account")
	}
	if s.User, err = core.ParseUserID("", user); err != nil {
		return Subject{}, badToken("names no user")
	}
	return s, nil
}

// SignToken makes a user JWT for a subject that expires at the given time, or
// never when it is zero. Signed must be empty or a JSON object.
func SignToken(secret string, s Subject, expires core.Time) string {
	w := writer{}
	w.open()
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
	w.close()
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode(w.b)
	return signed + "." + tokenMAC(secret, signed)
}

// Vouched returns an update without what its caller may not say: body is what
// ParseUser made it of, and s is what the caller's token signs; the zero Subject
// signs nothing. A holder of the API key may say anything and does not come here.
//
// A key that both have, in whichever of its spellings, must have the same value: see
// sameValue, and sameSet for keys whose elements are a set. Custom fields and segments
// are then those of the token: a body may lack the nulls that remove fields, or have
// others, and the order of its operations decides nothing. The
// key "cookies", which the browser SDK adds to a signed user, is exempt (reference,
// 2.2). A user's own codes and share links, which others would be paid for, must be
// signed. What
// grants money or standing counts only when it is signed: left is names such keys
// that were left out. A status is kept as what was reported (see
// referral.Account.Report), or counts when the tenant takes it from a token that
// signs the ids alone.
func Vouched(u referral.UserUpdate, s Subject, body []byte, payment auth.BrowserPayment) (vouched referral.UserUpdate, left []string, err error) {
	payable := payment == auth.PaymentAny && signsIDsOnly(s.Signed)
	gjson.ParseBytes(body).ForEach(func(k, value gjson.Result) bool {
		key := k.String()
		signed := signedValue(s.Signed, restName(key))
		switch {
		case key == "cookies" || value.Type == gjson.Null:
		case signed.Exists() && !agrees(key, signed, value):
			err = &core.Error{Code: core.CodeForbidden, Field: key, Message: "is not what the user token signs"}
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

// agrees reports whether the value of a key is the one that a token signs.
func agrees(key string, signed, value gjson.Result) bool {
	switch restName(key) {
	case "segments", "referredByCodes":
		return sameSet(signed, value)
	}
	return sameValue(signed, value)
}

// takeSigned replaces in an update what a body can say in several ways, with
// different effects, and still agree with the token.
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

// leaveOut takes out of an update what one unsigned key may not say.
func leaveOut(u *referral.UserUpdate, key string, value gjson.Result, payable bool) bool {
	switch restName(key) {
	case "accountStatus":
		return u.Status != nil && !payable && reported(u)
	case "referredBy":
		return value.Get("isConverted").Bool() && u.Status != nil && !payable && reported(u)
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

// reported makes a status one that is noted only, and says whether it would have
// moved something.
func reported(u *referral.UserUpdate) bool {
	u.Status, u.Reported = nil, u.Status
	return *u.Reported == referral.Paid || *u.Reported == referral.Cancelled
}

// signsIDsOnly reports whether a user claim names the user and says no more.
func signsIDsOnly(signed string) bool {
	only := true
	gjson.Parse(signed).ForEach(func(key, _ gjson.Result) bool {
		name := restName(key.String())
		only = name == "id" || name == "accountId"
		return only
	})
	return only
}

// signedValue returns what a token signs for a key of the REST call.
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

// signedBy reports whether a secret made a token's third part. No secret makes none.
func signedBy(secret, signed, mac string) bool {
	return secret != "" && hmac.Equal([]byte(mac), []byte(tokenMAC(secret, signed)))
}

// tokenMAC is the third part of a token. Texts are compared, not bytes: base64
// has several texts for the same bytes.
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
