package wire

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"kith/core"
	"kith/core/link"
	"kith/core/referral"
)

// ReferredBy is the user's own referral, for the response to an identification.
type ReferredBy struct {
	Referral *referral.Referral
	// Newly is true if this call attributed the user.
	Newly bool
}

// UserInfo is the data of a response about a user.
type UserInfo struct {
	User       referral.User
	Account    referral.Account
	ReferredBy ReferredBy
	// Share builds the user's share links.
	Share link.Share
}

// User returns a stored user as JSON (clients 1.2.16).
func User(u UserInfo) []byte {
	w := begin(make([]byte, 0, 6<<10))
	w.user(u)
	return w.end()
}

func (w *writer) user(u UserInfo) {
	w.text("id", string(u.User.ID))
	w.text("accountId", string(u.User.Account))
	w.textOrNull("cookieId", u.User.CookieID)
	w.text("firstName", u.User.FirstName)
	w.text("lastName", u.User.LastName)
	w.textOrNull("email", u.User.Email)
	w.textOrNull("emailHash", referral.EmailHash(u.User.Email))
	w.text("imageUrl", u.User.ImageURL)
	w.textOrNull("locale", u.User.Locale)
	w.textOrNull("countryCode", u.User.CountryCode)
	w.textOrNull("paymentProviderId", string(u.Account.PaymentProviderID))
	w.boolean("referable", u.User.Referable)
	w.textOrNull("referralCode", string(classicCode(u.User.Codes)))
	w.object("referralCodes", func() {
		for _, c := range u.User.Codes {
			w.text(string(c.Program), string(c.Code))
		}
	})
	w.referredBy(u.ReferredBy)
	w.raw("customFields", u.User.CustomFields)
	w.texts("segments", u.User.Segments)
	w.flatLinks("shareLinks", u.Share, classicCode(u.User.LinkNames()))
	w.programLinks(u)
	w.textOrNull("firstSeenIP", u.User.FirstSeenIP)
	w.textOrNull("lastSeenIP", u.User.LastSeenIP)
	w.date("dateUsTaxFormSubmitted", u.User.USTaxForm)
	w.date("dateCreated", u.User.Created)
	w.date("dateBlocked", u.User.Blocked)
}

// Users returns a list of users as JSON: {count, totalCount, users} (clients 1.2.9),
// each with the wanted keys. total is the number of users on all pages.
func Users(page []UserInfo, total int, wanted Fields) []byte {
	return pageOf("users", page, total, func(b []byte, u UserInfo) []byte { return append(b, wanted.Of(User(u))...) })
}

// OpenUser returns the public data of the owner of a code as JSON (clients 1.2.5):
// enough for a friend to recognize the owner. The ids, which are often an email
// address, are null unless ids is true, for calls with the API key or a token of the
// user.
func OpenUser(u referral.User, code core.ReferralCode, ids bool) []byte {
	if !ids {
		u.ID, u.Account = "", ""
	}
	w := begin(nil)
	w.textOrNull("id", string(u.ID))
	w.textOrNull("accountId", string(u.Account))
	w.text("firstName", u.FirstName)
	w.textOrNull("lastInitial", initial(u.LastName))
	w.text("referralCode", string(code))
	w.text("imageUrl", u.ImageURL)
	return w.end()
}

// Fields selects keys of a response about a user (clients 1.2.3). The zero value
// selects all.
type Fields struct{ names []string }

// ParseFields parses the query parameters fields and extraFields, each a list of
// names separated by commas, which may occur several times. Only one of them may be
// given. extraFields is ignored, because its keys are in every response.
func ParseFields(fields, extraFields []string) (Fields, error) {
	if len(fields) > 0 && len(extraFields) > 0 {
		return Fields{}, core.Invalid("fields", "must not be given together with extraFields; leave one out")
	}
	var f Fields
	for _, list := range fields {
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); name != "" {
				f.names = append(f.names, name)
			}
		}
	}
	return f, nil
}

// Of returns a JSON object with only the selected keys, in their original order.
// Unknown names are ignored.
func (f Fields) Of(answer []byte) []byte {
	if len(f.names) == 0 {
		return answer
	}
	w := begin(nil)
	gjson.ParseBytes(answer).ForEach(func(key, value gjson.Result) bool {
		if slices.Contains(f.names, key.String()) {
			w.raw(key.String(), value.Raw)
		}
		return true
	})
	return w.end()
}

func (w *writer) referredBy(by ReferredBy) {
	if by.Referral == nil {
		w.raw("referredBy", "null")
		w.raw("referredByCodes", "[]")
		return
	}
	w.object("referredBy", func() {
		w.text("code", string(by.Referral.Code))
		w.boolean("isConverted", by.Referral.State == referral.Converted)
		w.boolean("newlyReferred", by.Newly)
		w.reward("referredReward", by.Referral.ReferredReward)
	})
	w.texts("referredByCodes", []string{string(by.Referral.Code)})
}

func classicCode(codes []referral.UserCode) core.ReferralCode {
	for _, c := range codes {
		if c.Program == core.ClassicProgram || len(codes) == 1 {
			return c.Code
		}
	}
	return ""
}
