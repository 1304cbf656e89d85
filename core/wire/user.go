package wire

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/link"
	"kith/core/referral"
)

// Limits of a user (clients 6.5).
const (
	maxCustomFields    = 100
	maxCustomFieldName = 64
	maxCustomFieldText = 1024
	maxCodes           = 20
)

// ParseUser parses the body of an identification, in the form of the REST call
// (clients 1.2.12) or of the browser script's init call (spec 2.7).
// Ids in the body must be equal to those in the path.
func ParseUser(tenant core.TenantAlias, account core.AccountID, user core.UserID, body []byte) (referral.UserUpdate, error) {
	p := userParser{tenant: tenant, sent: func(key string) string { return member(gjson.ParseBytes(body), key).Raw }}
	p.u.Account, p.u.ID = account, user
	return p.result(object(body, MaxBody, "", p.key))
}

// ParseUserIDs returns the ids in the body of an identification without ids in its
// path. Both are required, in either spelling.
func ParseUserIDs(body []byte) (account core.AccountID, user core.UserID, err error) {
	if err := checkObject(body, MaxBody); err != nil {
		return "", "", err
	}
	texts := map[string]string{}
	gjson.ParseBytes(body).ForEach(func(key, value gjson.Result) bool {
		if value.Type == gjson.String {
			texts[restName(key.String())] = value.String()
		}
		return true
	})
	if account, err = core.ParseAccountID("accountId", texts["accountId"]); err != nil {
		return "", "", err
	}
	user, err = core.ParseUserID("id", texts["id"])
	return account, user, err
}

// ParseCookieUser parses the body of an identification of a user without ids. id is
// the generated id, of both account and user. Ids in the body must be equal to it.
func ParseCookieUser(tenant core.TenantAlias, id core.UserID, body []byte) (referral.UserUpdate, error) {
	if err := checkObject(body, MaxBody); err != nil {
		return referral.UserUpdate{}, err
	}
	var err error
	gjson.ParseBytes(body).ForEach(func(key, value gjson.Result) bool {
		name := restName(key.String())
		if (name == "id" || name == "accountId") && value.Type != gjson.Null && value.String() != string(id) {
			err = core.Invalid(key.String(), "must be left out; the service generates the ids of a cookie user")
		}
		return err == nil
	})
	if err != nil {
		return referral.UserUpdate{}, err
	}
	return ParseUser(tenant, core.AccountID(id), id, body)
}

// userParser collects the values of a body.
type userParser struct {
	// created is the time of an imported user; other calls ignore it.
	created *int64
	tenant  core.TenantAlias
	// sent returns the JSON of a key as it was sent, or "".
	sent func(key string) string
	// given are the keys so far, with their names in the REST call.
	given []string
	// answered is true if referredBy is copied from a response of the service.
	answered bool
	u        referral.UserUpdate
}

// restName returns the name in the REST call for a key of the REST or init call.
func restName(key string) string {
	switch key {
	case "user_id":
		return "id"
	case "account_id":
		return "accountId"
	case "payment_provider_id":
		return "paymentProviderId"
	case "account_status":
		return "accountStatus"
	case "first_name":
		return "firstName"
	case "last_name":
		return "lastName"
	case "user_image":
		return "imageUrl"
	case "user_referral_code":
		return "referralCode"
	}
	return key
}

// key parses one key of a body.
func (p *userParser) key(r *reader, key string, v *fastjson.Value) bool {
	if slices.Contains(p.given, restName(key)) {
		return r.fail(core.Malformed(r.path(key), "occurs twice, in two spellings"))
	}
	p.given = append(p.given, restName(key))
	return p.identity(r, key, v) || p.profile(r, key, v) || p.claim(r, key, v) || p.accepted(r, key, v)
}

// result returns the parsed update, or the error of its keys.
func (p *userParser) result(err error) (referral.UserUpdate, error) {
	if err != nil {
		return referral.UserUpdate{}, err
	}
	// The order of the keys in the body has no effect. The claims are few, and the sort of
	// package slices would be 3 kB of the component.
	claims := p.u.Claims
	for i := range claims {
		for ; i > 0 && claims[i].Source.Rank() < claims[i-1].Source.Rank(); i-- {
			claims[i], claims[i-1] = claims[i-1], claims[i]
		}
	}
	return p.u, nil
}

func (p *userParser) identity(r *reader, key string, v *fastjson.Value) bool {
	switch restName(key) {
	case "id":
		return r.same(key, v, string(p.u.ID))
	case "accountId":
		return r.same(key, v, string(p.u.Account))
	case "tenant_alias":
		return r.same(key, v, string(p.tenant))
	case "paymentProviderId":
		return parsed(r, key, v, &p.u.PaymentProviderID, core.ParsePaymentProviderID)
	case "accountStatus":
		p.u.OfReferral = false
		return parsed(r, key, v, &p.u.Status, referral.ParseStatus)
	}
	return false
}

func (p *userParser) profile(r *reader, key string, v *fastjson.Value) bool {
	switch restName(key) {
	case "firstName":
		return parsed(r, key, v, &p.u.FirstName, parseName)
	case "lastName":
		return parsed(r, key, v, &p.u.LastName, parseName)
	case "email":
		return parsed(r, key, v, &p.u.Email, parseEmail)
	case "imageUrl":
		return parsed(r, key, v, &p.u.ImageURL, referral.ParseImageURL)
	case "locale":
		return parsed(r, key, v, &p.u.Locale, ParseLocale)
	case "countryCode":
		return parsed(r, key, v, &p.u.CountryCode, parseCountryCode)
	case "referable":
		return r.boolean(&p.u.Referable, key, v)
	case "dateUsTaxFormSubmitted":
		return r.millis(&p.u.USTaxForm, key, v, 0)
	case "customFields":
		return p.customFields(r, key, v)
	case "segments":
		return parsedItems(r, key, v, referral.MaxSegments, &p.u.Segments, anyText)
	case "referralCodes":
		return r.nested(key, v, p.ownCode)
	case "referralCode":
		var code core.ReferralCode
		if setParsed(r, key, v, &code, optionalOwnCode); code != "" {
			p.u.Codes = append(p.u.Codes, referral.UserCode{Program: core.ClassicProgram, Code: code})
		}
		return true
	}
	return false
}

func (p *userParser) ownCode(r *reader, key string, v *fastjson.Value) bool {
	program, err := core.ParseProgramKey(r.path(key), key)
	if err != nil {
		return r.fail(err)
	}
	var code core.ReferralCode
	if setParsed(r, key, v, &code, ownCode); code != "" {
		p.u.Codes = append(p.u.Codes, referral.UserCode{Program: program, Code: code})
	}
	return true
}

// claim reads the keys with the code of a referrer.
func (p *userParser) claim(r *reader, key string, v *fastjson.Value) bool {
	switch key {
	case "referredByCodes":
		return r.items(key, v, maxCodes, func(i int, v *fastjson.Value) error {
			if v.Type() != fastjson.TypeString {
				return core.Malformed(element(r.path(key), i), "must be a string")
			}
			p.brings(referral.SourceCodes, string(v.GetStringBytes()))
			return nil
		})
	case "referredBy":
		// In a response, isConverted is that of the referral. If a caller sends it
		// back after the account was cancelled, it must not make the account PAID
		// again.
		p.answered = v.Exists("newlyReferred")
		return r.nested(key, v, p.referredBy)
	case "referral_code":
		return p.typed(r, referral.SourceInit, key, v)
	case "cookies":
		var s *string
		r.text(&s, key, v)
		if s != nil && *s != "" {
			p.u.Claims = append(p.u.Claims, CookieClaims(p.tenant, referral.SourceBody, *s)...)
		}
		return true
	}
	return false
}

func (p *userParser) referredBy(r *reader, key string, v *fastjson.Value) bool {
	switch key {
	case "code":
		return p.typed(r, referral.SourceReferredBy, key, v)
	case "isConverted":
		var converted *bool
		r.boolean(&converted, key, v)
		if converted != nil && *converted && p.u.Status == nil && !p.answered {
			paid := referral.Paid
			p.u.Status, p.u.OfReferral = &paid, true
		}
		return true
	// These are in a user that a caller read and sends back.
	case "newlyReferred", "referredReward":
		return true
	}
	return false
}

// typed reads a code as a person typed it, of any length.
func (p *userParser) typed(r *reader, source referral.Source, key string, v *fastjson.Value) bool {
	var s *string
	if r.longText(&s, key, v); s != nil {
		p.brings(source, *s)
	}
	return true
}

// brings adds the claim of a code as a person typed it. An empty text, which a form with an
// empty input sends, is none.
func (p *userParser) brings(source referral.Source, s string) {
	if code := link.MeantCode(p.tenant, s); code != "" {
		p.u.Claims = append(p.u.Claims, referral.Claim{Code: code, Source: source})
	}
}

// accepted reads keys that clients send and that have no effect: settings of the init
// call, fields that only the service sets, which are in a user that a caller read and
// sends back, and a date that only imports may set.
func (p *userParser) accepted(r *reader, key string, v *fastjson.Value) bool {
	switch key {
	case "jwt", "checksum", "mode", "fb_share_image",
		"cookieId", "emailHash", "firstSeenIP", "lastSeenIP", "lastInitial":
		var s *string
		return r.text(&s, key, v)
	case "shareLinks":
		return r.nested(key, v, p.shareLink)
	case "programShareLinks":
		return r.nested(key, v, func(*reader, string, *fastjson.Value) bool { return true })
	case "dateCreated":
		return r.millis(&p.created, key, v, 0)
	case "dateBlocked":
		var n *int64
		return r.millis(&n, key, v, 0)
	}
	return false
}

// flatLinkNames are the names in the older form of a user's links, and cleanShareLink,
// which @kith/client adds. They are in a user that a caller read and sends back, and are
// not program keys.
var flatLinkNames = []string{
	"cleanShareLink",
	"shareLink", "facebookShareLink", "twitterShareLink", "emailShareLink", "linkedinShareLink",
	"mobileShareLink", "mobileFacebookShareLink", "mobileTwitterShareLink", "mobileEmailShareLink",
}

// shareLink reads the link of one program (clients 1.2.12).
func (p *userParser) shareLink(r *reader, key string, v *fastjson.Value) bool {
	if slices.Contains(flatLinkNames, key) || v.Type() == fastjson.TypeObject {
		return true
	}
	program, err := core.ParseProgramKey(r.path(key), key)
	if err != nil {
		return r.fail(err)
	}
	if v.Type() == fastjson.TypeNull {
		return true
	}
	host, code, ok := link.ParseShareLink(p.tenant, string(v.GetStringBytes()))
	if !ok {
		return r.fail(BadShareLink(r.path(key), p.tenant, ""))
	}
	p.u.Links = append(p.u.Links, referral.UserLink{UserCode: referral.UserCode{Program: program, Code: code}, Host: host})
	return true
}

// BadShareLink returns the error for a text that is not a share link of a tenant, or
// has another host (RS053).
func BadShareLink(field string, tenant core.TenantAlias, origin string) error {
	if origin == "" {
		origin = "https://HOST"
	}
	err := core.Invalid(field, "must be a share link of this tenant; give "+origin+"/s/"+string(tenant)+"/NAME, with a NAME of 1 to 64 of A-Z a-z 0-9 - _")
	err.RS = "RS053"
	return err
}

func (p *userParser) customFields(r *reader, key string, v *fastjson.Value) bool {
	ok := r.nested(key, v, func(r *reader, name string, v *fastjson.Value) bool {
		switch {
		case len(p.u.CustomFields) == maxCustomFields:
			return r.fail(core.Invalid(key, "must not have more than 100 keys"))
		case name == "" || len(name) > maxCustomFieldName:
			return r.fail(core.Invalid(r.path(name), "must have a name of 1 to 64 bytes"))
		case v.Type() == fastjson.TypeObject || v.Type() == fastjson.TypeArray:
			return r.fail(core.Invalid(r.path(name), "must not be an object or an array"))
		case v.Type() == fastjson.TypeString && len(v.GetStringBytes()) > maxCustomFieldText:
			return r.fail(core.Invalid(r.path(name), "must not be longer than 1024 bytes"))
		}
		p.u.CustomFields = append(p.u.CustomFields, referral.CustomField{Name: name})
		return true
	})
	// The values are stored as sent.
	i := 0
	gjson.Parse(p.sent(key)).ForEach(func(_, raw gjson.Result) bool {
		if i < len(p.u.CustomFields) {
			p.u.CustomFields[i].Value = raw.Raw
			i++
		}
		return true
	})
	return ok
}

// Repeats reports whether an identification of an existing user, who has a code in
// every program, changes nothing: then nothing needs to be stored, and the response
// is User(stored). ip is the address of the user's browser; empty if the call is from
// a server; see User.SeenAt.
func Repeats(u referral.UserUpdate, stored UserInfo, ip string) bool {
	user := u.Apply(stored.User).SeenAt(ip)
	fields, err := MergeCustomFields(user.CustomFields, u.CustomFields)
	user.CustomFields = fields
	return err == nil && stored.User.Same(user) && u.Settled(user, stored.Account, stored.ReferredBy.Referral)
}

// MergeCustomFields returns a JSON object with the changes applied: a null removes
// its key (clients 1.2.13). A result with more than 100 keys is an error.
func MergeCustomFields(stored string, changes []referral.CustomField) (string, error) {
	if len(changes) == 0 {
		return stored, nil
	}
	var merged []referral.CustomField
	gjson.Parse(stored).ForEach(func(name, value gjson.Result) bool {
		merged = append(merged, referral.CustomField{Name: name.String(), Value: value.Raw})
		return true
	})
	for _, change := range changes {
		kept := merged[:0]
		for _, f := range merged {
			if f.Name != change.Name {
				kept = append(kept, f)
			}
		}
		merged = kept
		if change.Value != "null" {
			merged = append(merged, change)
		}
	}
	if len(merged) > maxCustomFields {
		return "", core.Invalid("customFields", "must not have more than 100 keys for a user; remove some by null")
	}
	w := begin(nil)
	for _, f := range merged {
		w.raw(f.Name, f.Value)
	}
	return string(w.end()), nil
}

// ownCode parses a code that a user gets.
func ownCode(field, s string) (core.ReferralCode, error) {
	return core.ParseReferralCode(field, core.Trim(s))
}

// optionalOwnCode is ownCode, for which an empty text means no code.
func optionalOwnCode(field, s string) (core.ReferralCode, error) {
	if s == "" {
		return "", nil
	}
	return ownCode(field, s)
}

// parseName returns a name of a person without blanks around it.
func parseName(_, s string) (string, error) { return core.Trim(s), nil }

// maxEmail is the most bytes of an email address (RFC 5321, 4.5.3.1.3).
const maxEmail = 254

// parseEmail returns s as an email address, or an error about field (RS023). It
// checks only the form. Empty means none.
func parseEmail(field, s string) (string, error) {
	s = core.Trim(s)
	name, domain, _ := strings.Cut(s, "@")
	if s != "" && (name == "" || domain == "" || strings.Contains(domain, "@") || len(s) > maxEmail || strings.ContainsFunc(s, core.Invisible)) {
		err := core.Invalid(field, "must be an e-mail address; give one such as name@example.com, or leave it out")
		err.RS = "RS023"
		return "", err
	}
	return s, nil
}

// parseCountryCode returns s as the code of a country (ISO 3166-1 alpha-2), or an
// error about field. Empty means none.
func parseCountryCode(field, s string) (string, error) {
	s = core.Trim(s)
	letter := func(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
	if s != "" && (len(s) != 2 || !letter(s[0]) || !letter(s[1])) {
		return "", core.Invalid(field, "must be a country code of two letters; give one such as US, or leave it out")
	}
	return s, nil
}

// ParseLocale returns s as a locale such as "en" or "en_US", or an error about field
// (RS039). It accepts "en-us" and blanks around it.
func ParseLocale(field, s string) (string, error) {
	b := []byte(core.Trim(s))
	ok := len(b) == 0 || len(b) >= 2 && len(b) <= 16 && b[0] != '_' && b[0] != '-'
	start := 0
	for i, c := range b {
		switch letter := c | 0x20; {
		case c == '_' || c == '-':
			b[i], start, ok = '_', i+1, ok && partLength(b[i+1:]) > 0
		case 'a' <= letter && letter <= 'z':
			// The language is in lower case, the country in upper case, a script in title case.
			if b[i] = letter; start > 0 && (i == start || partLength(b[start:]) == 2) {
				b[i] = letter - 0x20
			}
		default:
			ok = ok && '0' <= c && c <= '9'
		}
	}
	if !ok {
		err := core.Invalid(field, "must be a locale such as en or en_US")
		err.RS = "RS039"
		return "", err
	}
	return string(b), nil
}

// partLength returns the length of the first part of a locale.
func partLength(b []byte) int {
	n := 0
	for n < len(b) && b[n] != '_' && b[n] != '-' {
		n++
	}
	return n
}
