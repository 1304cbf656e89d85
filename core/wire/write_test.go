package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"kith/core"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/reward"
)

// statuses and words are the whole table, written down once more.
var statuses = map[core.Code]struct {
	status int
	word   string
}{
	core.CodeInternal:         {500, "INTERNAL"},
	core.CodeInvalid:          {400, "VALIDATION_FAILED"},
	core.CodeMalformed:        {400, "INVALID_JSON_REQUEST"},
	core.CodeUnauthenticated:  {401, "UNAUTHORIZED"},
	core.CodeForbidden:        {403, "FORBIDDEN"},
	core.CodeNotFound:         {404, "NOT_FOUND"},
	core.CodeMethodNotAllowed: {405, "METHOD_NOT_ALLOWED"},
	core.CodeConflict:         {409, "CONFLICT"},
	core.CodeTooLarge:         {413, "PAYLOAD_TOO_LARGE"},
	core.CodeMediaType:        {415, "UNSUPPORTED_MEDIA_TYPE"},
	core.CodeUnavailable:      {503, "UNAVAILABLE"},
}

func TestStatus(t *testing.T) {
	for _, code := range core.Codes() {
		want, known := statuses[code]
		if !known || Status(code) != want.status || apiErrorCode(code) != want.word {
			t.Errorf("code %d: %d %s, want %d %s", code, Status(code), apiErrorCode(code), want.status, want.word)
		}
	}
	if len(statuses) != len(core.Codes()) {
		t.Errorf("%d codes, %d in the table", len(core.Codes()), len(statuses))
	}
	if Status(200) != 500 || apiErrorCode(200) != "INTERNAL" {
		t.Error("a code that is none must fail safe")
	}
}

func TestFailure(t *testing.T) {
	const hidden = `{"message":"something went wrong on our side; it has been logged","statusCode":500,"apiErrorCode":"INTERNAL"}`
	secret := errors.New("dial tcp 10.0.0.1: secret")
	for name, c := range map[string]struct {
		err  error
		body string
	}{
		"field":           {core.Invalid("events[0].key", "is required"), `{"message":"events[0].key: is required","statusCode":400,"apiErrorCode":"VALIDATION_FAILED"}`},
		"number":          {numbered("RS034"), `{"message":"there is no such referral code","statusCode":404,"apiErrorCode":"NOT_FOUND","rsCode":"RS034"}`},
		"wrapped":         {fmt.Errorf("store: %w", event.Duplicate()), `{"message":"idempotencyKey: these events were received before, within the last 24 hours; nothing was recorded again","statusCode":409,"apiErrorCode":"CONFLICT"}`},
		"hostile text":    {core.Malformed("a\"\\\n\x00</script>\u2028\xff", "x"), `{"message":"a\"\\\n\u0000\u003c/script\u003e\u2028\ufffd: x","statusCode":400,"apiErrorCode":"INVALID_JSON_REQUEST"}`},
		"cause":           {&core.Error{Code: core.CodeUnavailable, Message: "try again", Err: secret}, `{"message":"try again","statusCode":503,"apiErrorCode":"UNAVAILABLE"}`},
		"internal":        {&core.Error{Message: "secret", Field: "secret", RS: "RS018", Err: secret}, hidden},
		"foreign error":   {secret, hidden},
		"no error at all": {nil, hidden},
	} {
		status, body := Failure(c.err)
		var read struct {
			StatusCode int `json:"statusCode"`
		}
		if err := json.Unmarshal(body, &read); err != nil || read.StatusCode != status {
			t.Errorf("%s: status %d, body %s, %v", name, status, body, err)
		}
		if string(body) != c.body {
			t.Errorf("%s: %s\nwant %s", name, body, c.body)
		}
	}
	if status, body := Failure(MethodNotAllowed("TRACE")); status != 405 || !json.Valid(body) {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := Failure(NoSuchPath()); status != 404 {
		t.Errorf("%d", status)
	}
}

// numbered is an error that has one of the reference's numbers.
func numbered(rs string) *core.Error {
	err := UnknownCode()
	err.RS = rs
	return err
}

// hostile are texts that end a string, a line, a script or a rune too early.
var hostile = []string{
	"", "plain", `"`, `\`, `\"`, `","x":"`, "\x00\x01\x1f\x7f", "\b\f\n\r\t", "</script><!--", "\u2028\u2029", "ü日本😀",
	"\xff\xfe", "\xc3", "\xed\xa0\x80", `\u0000`, strings.Repeat(`"`, 300),
}

// Whatever the texts are, an answer is one JSON document and says them again.
func TestWriters_HostileTexts(t *testing.T) {
	for _, s := range hostile {
		for name, body := range answers(s) {
			if !json.Valid(body) {
				t.Errorf("%s of %q is no JSON: %s", name, s, body)
			}
			if quoted, _ := json.Marshal(s); s != "" && utf8.ValidString(s) && !strings.Contains(string(canonicalJSON(t, body)), string(quoted[1:len(quoted)-1])) {
				t.Errorf("%s of %q does not hold it: %s", name, s, body)
			}
		}
	}
}

func canonicalJSON(t *testing.T, body []byte) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// answers has every writer write one text into every place that takes one.
func answers(s string) map[string][]byte {
	who := referral.Identity{Account: core.AccountID(s), User: core.UserID(s), Email: s}
	earned := reward.Reward{
		ID: s, Account: core.AccountID(s), User: core.UserID(s), Program: core.ProgramKey(s), Referral: s, Source: reward.Source(s),
		Offer: reward.Offer{Kind: reward.Credit, Amount: 5, Currency: s}, Created: 1,
	}
	percent := earned
	percent.Offer = reward.Offer{Kind: reward.PercentDiscount, Percent: 1250}
	made := referral.Referral{
		ID: s, Program: core.ProgramKey(s), State: referral.State(s), Code: core.ReferralCode(s), Referrer: who, Referred: who,
		ShareMedium: s, Started: 1, Converted: 2, Ended: 3, ReferrerReward: &earned, ReferredReward: &percent,
	}
	account := referral.Account{
		ID: core.AccountID(s), Currency: s, Status: referral.Status(s), Interval: referral.Interval(s), IntervalValue: 1, Value: "9.90",
		PaymentProviderID: core.PaymentProviderID(s), Standing: referral.Standing{Referral: referral.InProgress, Code: core.ReferralCode(s)},
	}
	claim := referral.Claim{Code: core.ReferralCode(s), Owner: who, ShareMedium: s}
	standing := referral.Standing{Referral: referral.State(s), Code: core.ReferralCode(s), FirstPaid: 1}
	decision := Decision{
		ID: s, Account: core.AccountID(s), User: core.UserID(s), Code: core.ReferralCode(s), Source: referral.Source(s), Rule: referral.Rule(s),
		Inputs: DecisionInputs(standing, referral.Command{}, referral.Verdict{Claim: claim}), Times: 1, First: 1, Last: 2,
	}
	batch := event.Batch{Account: core.AccountID(s), User: core.UserID(s), Events: []event.Event{{ID: s, Key: s}, {ID: s, Key: s, Fields: `{"a":[1]}`}}}
	customFields, _ := MergeCustomFields("{}", []referral.CustomField{{Name: s, Value: "1"}})
	stored := referral.User{
		Account: core.AccountID(s), ID: core.UserID(s), FirstName: s, LastName: s, Email: s, ImageURL: s, Locale: s, CountryCode: s,
		CustomFields: customFields, Segments: []string{s, s},
		Codes: []referral.UserCode{{Program: core.ProgramKey(s), Code: core.ReferralCode(s)}},
	}
	_, failure := Failure(core.Invalid(s, s))
	return map[string][]byte{
		"Account":          Account(account),
		"User":             User(stored, account, ReferredBy{Referral: &made, Newly: true}),
		"User, unreferred": User(stored, account, ReferredBy{}),
		"Code":             Code(CodeInfo{Code: core.ReferralCode(s), Program: core.ProgramKey(s), FirstName: s, LastName: s, DiscountID: s, Offer: earned.Offer, Created: 1}),
		"Events":           Events(batch),
		"IntakeEvents":     IntakeEvents(batch),
		"Referral":         Referral(made),
		"Referrals":        Referrals([]referral.Referral{made, {ID: s}}, 7),
		"Rewards":          Rewards([]reward.Reward{earned, percent}),
		"Decisions":        Decisions([]Decision{decision, decision}, 2),
		"Failure":          failure,
	}
}

func TestWriters(t *testing.T) {
	credit := reward.Offer{Kind: reward.Credit, Amount: 500, Currency: "EUR"}
	percent := reward.Offer{Kind: reward.PercentDiscount, Percent: 1250}
	earned := reward.Reward{ID: "w", Account: "a", User: "u", Program: "classic", Source: reward.FriendSignup, Offer: credit, Redeemed: 100, Created: 5}
	for name, c := range map[string]struct{ got, want string }{
		"new account": {string(Account(referral.NewAccount("a", 1))),
			`{"id":"a","currency":"USD","subscription":{"status":"TRIAL","billingIntervalType":null,"billingIntervalValue":null,"value":null},"referral":null}`},
		"full account": {string(Account(referral.Account{ID: "a", Currency: "EUR", Status: "PAID", Interval: "DAY", IntervalValue: 30, Value: "9.90", Standing: referral.Standing{Code: "ANN"}})),
			`{"id":"a","currency":"EUR","subscription":{"status":"PAID","billingIntervalType":"DAY","billingIntervalValue":30,"value":9.90},"referral":{"code":"ANN"}}`},
		"code with a percentage": {string(Code(CodeInfo{Code: "ANN", Program: "classic", FirstName: "Ann", LastName: "Émile", Offer: percent, DiscountID: "svc_discount", Created: 5})),
			`{"code":"ANN","couponCode":"ANN","dateCreated":5,"programId":"classic","referrerName":"Ann É","reward":{"type":"PCT_DISCOUNT","unit":"%","discountPercent":12.5},"discountPercentage":12.5,"discountId":"svc_discount"}`},
		"code with a credit": {string(Code(CodeInfo{Code: "ANN", Program: "p", FirstName: "Ann", Offer: credit, DiscountID: "d"})),
			`{"code":"ANN","couponCode":"ANN","dateCreated":null,"programId":"p","referrerName":"Ann","reward":{"type":"CREDIT","unit":"CENTS","credit":500,"currency":"EUR"},"discountPercentage":0,"discountId":"d"}`},
		"code of a nameless": {string(Code(CodeInfo{Code: "ANN", LastName: "T"})),
			`{"code":"ANN","couponCode":"ANN","dateCreated":null,"programId":"","referrerName":"T","reward":null,"discountPercentage":0,"discountId":""}`},
		"no rewards": {string(Rewards(nil)), `[]`},
		"a reward": {string(Rewards([]reward.Reward{earned})),
			`[{"id":"w","type":"CREDIT","accountId":"a","userId":"u","programId":"classic","rewardSource":"FRIEND_SIGNUP","unit":"CENTS","assignedCredit":500,"redeemedCredit":100,"currency":"EUR","cancellable":true,"dateCreated":5,"dateGiven":5,"dateScheduledFor":null,"dateExpires":null,"dateCancelled":null}]`},
		"no referrals": {string(Referrals(nil, 3)), `{"count":0,"totalCount":3,"referrals":[]}`},
		"a referral in progress": {string(Referral(referral.Referral{ID: "r", Program: "classic", State: referral.InProgress, Code: "ANN", Referrer: referral.Identity{Account: "a", User: "ann"}, Referred: referral.Identity{Account: "b"}, Started: 5})),
			`{"id":"r","programId":"classic","state":"in-progress","referralCodeUsed":"ANN","shareLinkUsed":null,"shareMedium":null,"referrerUser":{"id":"ann","accountId":"a","email":null},"referredUser":{"id":null,"accountId":"b","email":null},"referrerReward":null,"referredReward":null,"dateReferralStarted":5,"dateReferralPaid":null,"dateConverted":null,"dateReferralEnded":null}`},
		"no decisions": {string(Decisions(nil, 0)), `{"count":0,"totalCount":0,"attributions":[]}`},
		"new user": {string(User(referral.NewUser("a", "u", 5), referral.NewAccount("a", 1), ReferredBy{})),
			`{"id":"u","accountId":"a","firstName":"","lastName":"","email":null,"imageUrl":"","locale":null,"countryCode":null,"paymentProviderId":null,"referable":true,"referralCode":null,"referralCodes":{},"referredBy":null,"referredByCodes":[],"customFields":{},"segments":[],"dateCreated":5,"dateBlocked":null}`},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s\nwant %s", name, c.got, c.want)
		}
	}
}

func TestHosts(t *testing.T) {
	for list, want := range map[string]string{
		"[]": "", "": "", `["a.example"]`: "a.example", `["a.example", "b.example:8443"]`: "a.example,b.example:8443",
	} {
		if got := strings.Join(Hosts(list), ","); got != want {
			t.Errorf("%s: %q, want %q", list, got, want)
		}
	}
}
