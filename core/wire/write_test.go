package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"kith/core"
	"kith/core/event"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
)

// statuses has the statuses and words of all codes.
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
	core.CodeNotSupported:     {403, "API_REQUEST_NOT_SUPPORTED"},
	core.CodeRateLimited:      {429, "RATE_LIMITED"},
	core.CodeTimeout:          {408, "REQUEST_TIMEOUT"},
	core.CodeBadGateway:       {502, "BAD_GATEWAY"},
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
		t.Error("an unknown code must fail safe")
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
		"wrapped":         {fmt.Errorf("store: %w", event.Duplicate("")), `{"message":"idempotencyKey: these events were received before, within the last 24 hours; nothing was recorded again","statusCode":409,"apiErrorCode":"CONFLICT"}`},
		"hostile text":    {core.Malformed("a\"\\\n\x00</script>\u2028\xff", "x"), `{"message":"a\"\\\n\u0000\u003c/script\u003e\u2028�: x","statusCode":400,"apiErrorCode":"INVALID_JSON_REQUEST"}`},
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

// numbered is an error that has one of the numbers of clients 6.2.
func numbered(rs string) *core.Error {
	err := UnknownCode()
	err.RS = rs
	return err
}

// hostile are texts that could end a string, a line, a script or a character.
var hostile = []string{
	"", "plain", `"`, `\`, `\"`, `","x":"`, "\x00\x01\x1f\x7f", "\b\f\n\r\t", "</script><!--", "\u2028\u2029", "ü日本😀",
	"\xff\xfe", "\xc3", "\xed\xa0\x80", `\u0000`, strings.Repeat(`"`, 300),
}

// For any texts, a response is one JSON document that contains them.
func TestWriters_HostileTexts(t *testing.T) {
	for _, s := range hostile {
		for name, body := range answers(s) {
			if !json.Valid(body) {
				t.Errorf("%s of %q is not JSON: %s", name, s, body)
			}
			if quoted, _ := json.Marshal(s); s != "" && utf8.ValidString(s) && !strings.Contains(string(canonicalJSON(t, body)), string(quoted[1:len(quoted)-1])) {
				t.Errorf("%s of %q does not contain it: %s", name, s, body)
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

// answers returns the results of all writers with one text in every field.
func answers(s string) map[string][]byte {
	who := referral.Identity{Account: core.AccountID(s), User: core.UserID(s), Email: s}
	earned := reward.Reward{
		ID: s, Account: core.AccountID(s), User: core.UserID(s), Program: core.ProgramKey(s), Referral: s, Order: s, Source: reward.Source(s),
		ProgramRewardKey: s, GlobalRewardKey: s, FuelTankCode: s, FuelTankType: reward.Kind(s), Created: 1, Given: 1,
		Offer:       reward.Offer{Kind: reward.Credit, Amount: 5, Unit: s, Currency: s, Name: s, Description: s},
		Redemptions: []reward.Redeemed{{ID: s, Amount: 1, At: 2}},
	}
	percent, tank, gift := earned, earned, earned
	percent.Offer.Kind, percent.Offer.Percent = reward.PercentDiscount, 1250
	tank.Offer.Kind, gift.Offer.Kind = reward.FuelTank, reward.Integration
	made := referral.Referral{
		ID: s, Program: core.ProgramKey(s), State: referral.State(s), Code: core.ReferralCode(s), Referrer: who, Referred: who,
		ShareMedium: s, Started: 1, Converted: 2, Ended: 3, ReferrerReward: &earned, ReferredReward: &percent,
	}
	share := link.Share{Origin: s, Tenant: core.TenantAlias(s)}
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
	batch := event.Call{Account: core.AccountID(s), User: core.UserID(s), Events: []event.Event{{ID: s, Key: s}, {ID: s, Key: s, Fields: `{"a":[1]}`}}}
	customFields, _ := MergeCustomFields("{}", []referral.CustomField{{Name: s, Value: "1"}})
	stored := referral.User{
		Account: core.AccountID(s), ID: core.UserID(s), FirstName: s, LastName: s, Email: s, ImageURL: s, Locale: s, CountryCode: s,
		CookieID: s, FirstSeenIP: s, LastSeenIP: s, USTaxForm: 1, Blocked: 2,
		CustomFields: customFields, Segments: []string{s, s},
		Codes: []referral.UserCode{{Program: core.ProgramKey(s), Code: core.ReferralCode(s)}},
	}
	_, failure := Failure(core.Invalid(s, s))
	return map[string][]byte{
		"Account":          Account(account),
		"User":             User(UserInfo{User: stored, Account: account, ReferredBy: ReferredBy{Referral: &made, Newly: true}, Share: share}),
		"User, unreferred": User(UserInfo{User: stored, Account: account, Share: share}),
		"Code":             Code(CodeInfo{Code: core.ReferralCode(s), Program: core.ProgramKey(s), FirstName: s, LastName: s, DiscountID: s, Offer: earned.Offer, Created: 1}),
		"Events":           Events(batch),
		"IntakeEvents":     IntakeEvents(batch),
		"Referral":         Referral(made),
		"Referrals":        Referrals([]referral.Referral{made, {ID: s}}, 7),
		"Rewards":          Rewards([]reward.Reward{earned, percent, tank, gift}),
		"Reward":           Reward(earned),
		"Redemption":       Redemption(reward.Redemption{Redeemed: 1, Unit: s}),
		"RewardBalances":   RewardBalances([]reward.Balance{{Kind: reward.Credit, Unit: s}, {Kind: reward.FuelTank, Unit: s}, {Kind: reward.Integration, Unit: s}}),
		"RewardBalanceChanged": RewardBalanceChanged(reward.Change{
			Owner: reward.Owner{Account: core.AccountID(s), User: core.UserID(s), Unit: s}, Available: 1, Version: 1,
		}),
		"AccountDiscount": AccountDiscount(reward.Discount{Account: core.AccountID(s), DiscountID: s, FirstName: s}),
		"DiscountCode":    DiscountCode(CodeInfo{Code: core.ReferralCode(s), FirstName: s, DiscountID: s}),
		"Decisions":       Decisions([]Decision{decision, decision}, 2),
		"Failure":         failure,
	}
}

func TestWriters(t *testing.T) {
	credit := reward.Offer{Kind: reward.Credit, Amount: 500, Currency: "EUR"}
	percent := reward.Offer{Kind: reward.PercentDiscount, Percent: 1250}
	earned := reward.Reward{
		ID: "w", Account: "a", User: "u", Program: "classic", Source: reward.FriendSignup, Cancellable: true, Created: 5, Given: 5,
		Offer: reward.Offer{Kind: reward.Credit, Amount: 500, Unit: "CENTS", Currency: "EUR"},
		Sums:  reward.Sums{Redeemed: 100}, Redemptions: []reward.Redeemed{{ID: "x", Amount: 100, At: 7}},
	}
	discount := earned
	discount.Offer = reward.Offer{Kind: reward.PercentDiscount, Percent: 1250, Unit: "%", Name: "Welcome"}
	discount.Program, discount.Sums, discount.Cancelled, discount.Expires = "", reward.Sums{Cancelled: 1250}, 8, 9
	tank := earned
	tank.Offer, tank.Sums = reward.Offer{Kind: reward.FuelTank, Amount: 1000, Unit: "CENTS"}, reward.Sums{}
	tank.FuelTankCode, tank.FuelTankType, tank.Pending, tank.Given, tank.Scheduled = "CODE8", reward.Credit, true, 20, 20
	gift := earned
	gift.Offer, gift.Sums = reward.Offer{Kind: reward.Integration, Amount: 25, Unit: "CASH/CAD", Description: "A card", Settings: `{"giftId":"5"}`}, reward.Sums{}
	gift.Cancellable, gift.ProgramRewardKey, gift.GlobalRewardKey = false, "p", "g"
	share := gift
	share.Offer.Unit, share.Offer.Currency = reward.UnitCents, "KWD"
	debt, settled, partly := earned, earned, earned
	debt.Order, debt.Sums, debt.Redemptions = "o-1", reward.Sums{Redeemed: 500, Reversed: 200, Settled: -50}, nil
	settled.Sums, settled.Redemptions = reward.Sums{Settled: 50}, nil
	partly.Order, partly.Sums = "o-1", reward.Sums{Reversed: 250}
	partly.Offer = reward.Offer{Kind: reward.PercentDiscount, Percent: 1250, Unit: "%"}
	for name, c := range map[string]struct{ got, want string }{
		"new account": {string(Account(referral.NewAccount("a", 1))),
			`{"id":"a","currency":"USD","subscription":{"status":"TRIAL","billingIntervalType":null,"billingIntervalValue":null,"value":null},"referral":null}`},
		"full account": {string(Account(referral.Account{ID: "a", Currency: "EUR", Status: "PAID", Interval: "DAY", IntervalValue: 30, Value: "9.90", Standing: referral.Standing{Code: "ANN", FirstPaid: 1}})),
			`{"id":"a","currency":"EUR","subscription":{"status":"PAID","billingIntervalType":"DAY","billingIntervalValue":30,"value":9.90},"referral":{"code":"ANN"}}`},
		"code with a percentage": {string(Code(CodeInfo{Code: "ANN", Program: "classic", FirstName: "Ann", LastName: "Émile", Offer: percent, DiscountID: "svc_discount", Created: 5})),
			`{"code":"ANN","couponCode":"ANN","dateCreated":5,"programId":"classic","referrerName":"Ann É","reward":{"type":"PCT_DISCOUNT","unit":"%","discountPercent":12.5},"discountPercentage":12.5,"discountId":"svc_discount"}`},
		"code with a credit": {string(Code(CodeInfo{Code: "ANN", Program: "p", FirstName: "Ann", Offer: credit, DiscountID: "d"})),
			`{"code":"ANN","couponCode":"ANN","dateCreated":null,"programId":"p","referrerName":"Ann","reward":{"type":"CREDIT","unit":"CENTS","credit":500,"currency":"EUR"},"discountPercentage":0,"discountId":"d"}`},
		"code of a nameless": {string(Code(CodeInfo{Code: "ANN", LastName: "T"})),
			`{"code":"ANN","couponCode":"ANN","dateCreated":null,"programId":"","referrerName":"T","reward":null,"discountPercentage":0,"discountId":""}`},
		"no rewards": {string(Rewards(nil)), `[]`},
		"a reward": {string(Rewards([]reward.Reward{earned})),
			`[{"id":"w","type":"CREDIT","accountId":"a","userId":"u","programId":"classic","programRewardKey":null,"globalRewardKey":null,"rewardSource":"FRIEND_SIGNUP","unit":"CENTS","name":null,"assignedCredit":500,"redeemedCredit":100,"currency":"EUR","redemptions":[{"id":"x","dateRedeemed":7,"quantityRedeemed":100}],"cancellable":true,"dateCreated":5,"dateGiven":5,"dateScheduledFor":null,"dateExpires":null,"dateCancelled":null}]`},
		"a cancelled discount": {string(Reward(discount)),
			`{"id":"w","type":"PCT_DISCOUNT","accountId":"a","userId":"u","programId":null,"programRewardKey":null,"globalRewardKey":null,"rewardSource":"FRIEND_SIGNUP","unit":"%","name":"Welcome","discountPercent":12.5,"cancellable":false,"dateCreated":5,"dateGiven":5,"dateScheduledFor":null,"dateExpires":9,"dateCancelled":8}`},
		"a fuel tank to be given": {string(Reward(tank)),
			`{"id":"w","type":"FUELTANK","accountId":"a","userId":"u","programId":"classic","programRewardKey":null,"globalRewardKey":null,"rewardSource":"FRIEND_SIGNUP","unit":"CENTS","name":null,"fuelTankCode":null,"amount":1000,"fueltankType":"CREDIT","fuelTankType":"CREDIT","cancellable":true,"dateCreated":5,"dateGiven":null,"dateScheduledFor":20,"dateExpires":null,"dateCancelled":null}`},
		"a gift": {string(Reward(gift)),
			`{"id":"w","type":"INTEGRATION","accountId":"a","userId":"u","programId":"classic","programRewardKey":"p","globalRewardKey":"g","rewardSource":"FRIEND_SIGNUP","unit":"CASH/CAD","name":null,"description":"A card","valueInCents":25,"integrationSettings":{"giftId":"5"},"cancellable":false,"dateCreated":5,"dateGiven":5,"dateScheduledFor":null,"dateExpires":null,"dateCancelled":null}`},
		"a gift of a share of a revenue": {string(Reward(share)),
			`{"id":"w","type":"INTEGRATION","accountId":"a","userId":"u","programId":"classic","programRewardKey":"p","globalRewardKey":"g","rewardSource":"FRIEND_SIGNUP","unit":"CENTS","name":null,"description":"A card","valueInCents":25,"currency":"KWD","integrationSettings":{"giftId":"5"},"cancellable":false,"dateCreated":5,"dateGiven":5,"dateScheduledFor":null,"dateExpires":null,"dateCancelled":null}`},
		"a debt of an order": {string(Reward(debt)),
			`{"id":"w","type":"CREDIT","accountId":"a","userId":"u","programId":"classic","programRewardKey":null,"globalRewardKey":null,"rewardSource":"FRIEND_SIGNUP","unit":"CENTS","name":null,"assignedCredit":500,"redeemedCredit":500,"currency":"EUR","redemptions":[],"orderId":"o-1","reversedValue":200,"settledValue":-50,"cancellable":false,"dateCreated":5,"dateGiven":5,"dateScheduledFor":null,"dateExpires":null,"dateCancelled":null}`},
		"a partly refunded discount of an order": {string(Reward(partly)),
			`{"id":"w","type":"PCT_DISCOUNT","accountId":"a","userId":"u","programId":"classic","programRewardKey":null,"globalRewardKey":null,"rewardSource":"FRIEND_SIGNUP","unit":"%","name":null,"discountPercent":12.5,"orderId":"o-1","reversedValue":2.5,"cancellable":true,"dateCreated":5,"dateGiven":5,"dateScheduledFor":null,"dateExpires":null,"dateCancelled":null}`},
		"a credit that settled a debt": {string(Reward(settled)),
			`{"id":"w","type":"CREDIT","accountId":"a","userId":"u","programId":"classic","programRewardKey":null,"globalRewardKey":null,"rewardSource":"FRIEND_SIGNUP","unit":"CENTS","name":null,"assignedCredit":500,"redeemedCredit":0,"currency":"EUR","redemptions":[],"settledValue":50,"cancellable":true,"dateCreated":5,"dateGiven":5,"dateScheduledFor":null,"dateExpires":null,"dateCancelled":null}`},
		"a code that discounts for a year": {string(Code(CodeInfo{Code: "ANN", Offer: reward.Offer{Kind: reward.PercentDiscount, Percent: 1000, ValidFor: 365 * core.Day}})),
			`{"code":"ANN","couponCode":"ANN","dateCreated":null,"programId":"","referrerName":"","reward":{"type":"PCT_DISCOUNT","unit":"%","discountPercent":10,"monthsDiscountIsValid":12},"discountPercentage":10,"discountId":""}`},
		"a code that gives points": {string(Code(CodeInfo{Code: "ANN", Offer: reward.Offer{Kind: reward.Credit, Amount: 5, Unit: "POINT"}})),
			`{"code":"ANN","couponCode":"ANN","dateCreated":null,"programId":"","referrerName":"","reward":{"type":"CREDIT","unit":"POINT","credit":5,"currency":null},"discountPercentage":0,"discountId":""}`},
		"a code that gives a gift": {string(Code(CodeInfo{Code: "ANN", Offer: reward.Offer{Kind: reward.Integration, Amount: 25, Unit: "CASH/CAD"}})),
			`{"code":"ANN","couponCode":"ANN","dateCreated":null,"programId":"","referrerName":"","reward":{"type":"INTEGRATION","unit":"CASH/CAD","valueInCents":25,"rewardDetails":null},"discountPercentage":0,"discountId":""}`},
		"no referrals": {string(Referrals(nil, 3)), `{"count":0,"totalCount":3,"referrals":[]}`},
		"a referral in progress": {string(Referral(referral.Referral{ID: "r", Program: "classic", State: referral.InProgress, Code: "ANN", Referrer: referral.Identity{Account: "a", User: "ann"}, Referred: referral.Identity{Account: "b"}, Started: 5})),
			`{"id":"r","programId":"classic","state":"in-progress","referralCodeUsed":"ANN","shareLinkUsed":null,"shareMedium":null,"referrerUser":{"id":"ann","accountId":"a","firstName":"","lastName":"","email":null,"imageUrl":""},"referredUser":{"id":null,"accountId":"b","firstName":"","lastName":"","email":null,"imageUrl":""},"referrerReward":null,"referredReward":null,"moderationStatus":"ACTIONED","referrerModerationStatus":"APPROVED","referredModerationStatus":"APPROVED","fraudSignals":null,"dateReferralStarted":5,"dateReferralPaid":null,"dateConverted":null,"dateReferralEnded":null,"dateModerated":null,"dateModified":null,"dateUserModified":null}`},
		"a referral with all": {string(Referral(fullReferral)),
			`{"id":"r","programId":"classic","state":"converted","referralCodeUsed":"ANN","shareLinkUsed":"https://go.example/s/t/ANN","shareMedium":"SMS","referrerUser":{"id":"ann","accountId":"a","firstName":"Ann","lastName":"Arbor","email":"ann@example.com","imageUrl":"https://img.example/"},"referredUser":{"id":"bob","accountId":"b","firstName":"Bob","lastName":"Builder","email":"bob@example.com","imageUrl":""},"referrerReward":null,"referredReward":null,"moderationStatus":"PENDING","referrerModerationStatus":"PENDING","referredModerationStatus":"DENIED","fraudSignals":{"name":{"message":"m \"n\"","score":50},"ip":{"message":"i","score":60}},"dateReferralStarted":5,"dateReferralPaid":6,"dateConverted":6,"dateReferralEnded":7,"dateModerated":8,"dateModified":10,"dateUserModified":9}`},
		"an event about a referral": {string(ReferralEvent(fullReferral)),
			`{"id":"r","programId":"classic","referrer":{"id":"ann","accountId":"a"},"referred":{"id":"bob","accountId":"b"},"referralCodeUsed":"ANN","shareLinkUsed":"https://go.example/s/t/ANN","moderationStatus":"PENDING","referrerModerationStatus":"PENDING","referredModerationStatus":"DENIED","fraudSignals":{"name":{"message":"m \"n\"","score":50},"ip":{"message":"i","score":60}},"referrerReward":null,"referredReward":null,"dateReferralStarted":5,"dateReferralPaid":6,"dateConverted":6,"dateReferralEnded":7,"dateModerated":8,"dateModified":10,"dateUserModified":9}`},
		"a referral as seen by one of its users": {string(Referral(fullReferral.SeenBy("b", "bob"))),
			`{"id":"r","programId":"classic","state":"converted","referralCodeUsed":"ANN","shareLinkUsed":"https://go.example/s/t/ANN","shareMedium":"SMS","referrerUser":{"id":"ann","accountId":"a","firstName":"Ann","lastName":"A","email":null,"imageUrl":"https://img.example/"},"referredUser":{"id":"bob","accountId":"b","firstName":"Bob","lastName":"Builder","email":"bob@example.com","imageUrl":""},"referrerReward":null,"referredReward":null,"moderationStatus":"PENDING","referrerModerationStatus":"PENDING","referredModerationStatus":"DENIED","fraudSignals":null,"dateReferralStarted":5,"dateReferralPaid":6,"dateConverted":6,"dateReferralEnded":7,"dateModerated":8,"dateModified":10,"dateUserModified":9}`},
		"no decisions": {string(Decisions(nil, 0)), `{"count":0,"totalCount":0,"attributions":[]}`},
		"new user": {string(User(UserInfo{User: referral.NewUser("a", "u", 5), Account: referral.NewAccount("a", 1)})),
			`{"id":"u","accountId":"a","cookieId":null,"firstName":"","lastName":"","email":null,"emailHash":null,"imageUrl":"","locale":null,"countryCode":null,"paymentProviderId":null,"referable":true,"referralCode":null,"referralCodes":{},"referredBy":null,"referredByCodes":[],"customFields":{},"segments":[],"shareLinks":null,"programShareLinks":{},"firstSeenIP":null,"lastSeenIP":null,"dateUsTaxFormSubmitted":null,"dateCreated":5,"dateBlocked":null}`},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s\nwant %s", name, c.got, c.want)
		}
	}
}

var fullReferral = referral.Referral{
	ID: "r", Program: "classic", State: referral.Converted, Code: "ANN", ShareMedium: "SMS", ShareLink: "https://go.example/s/t/ANN",
	Referrer:        referral.Identity{Account: "a", User: "ann", Email: "ann@example.com"},
	ReferrerProfile: referral.Profile{FirstName: "Ann", LastName: "Arbor", ImageURL: "https://img.example/"},
	Referred:        referral.Identity{Account: "b", User: "bob", Email: "bob@example.com"},
	ReferredProfile: referral.Profile{FirstName: "Bob", LastName: "Builder"},
	Started:         5, Converted: 6, Ended: 7, Modified: 10,
	Moderation: referral.ModerationState{
		Referrer: referral.Side{Status: referral.SidePending}, Referred: referral.Side{Status: referral.SideDenied, ByHand: true},
		Signals:   []referral.Finding{{Signal: referral.SignalName, Message: `m "n"`, Score: 50}, {Signal: referral.SignalIP, Message: "i", Score: 60}},
		Moderated: 8, ByHand: 9,
	},
}

// ParseFraudSignals reads what FraudSignals writes.
func TestFraudSignals_RoundTrip(t *testing.T) {
	for _, want := range [][]referral.Finding{nil, fullReferral.Moderation.Signals} {
		if got := ParseFraudSignals(FraudSignals(want)); !slices.Equal(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

func TestParseModerations(t *testing.T) {
	got, err := ParseModerations([]byte(`{"actions":[{"referralId":"a","action":"APPROVED"},{"action":"REFERRED_DENIED","referralId":"b"}]}`))
	want := []referral.Moderation{{Referral: "a", Action: referral.Approve}, {Referral: "b", Action: referral.DenyReferred}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	one := `{"referralId":"a","action":"APPROVED"}`
	if got, err := ParseModerations([]byte(`{"actions":[` + strings.Repeat(one+",", 99) + one + `]}`)); err != nil || len(got) != 100 {
		t.Errorf("100: %d, %v", len(got), err)
	}
	for body, field := range map[string]string{
		`{}`: "actions", `{"actions":null}`: "actions", `{"actions":[]}`: "actions", `{"actions":{}}`: "actions",
		`{"actions":[` + strings.Repeat(one+",", 100) + one + `]}`:   "actions",
		`{"actions":[` + one + `,{"referralId":"a"}]}`:               "actions[1].action",
		`{"actions":[{"action":"DENIED"}]}`:                          "actions[0].referralId",
		`{"actions":[{"referralId":"","action":"DENIED"}]}`:          "actions[0].referralId",
		`{"actions":[{"referralId":"a","action":"PENDING"}]}`:        "actions[0].action",
		`{"actions":[{"referralId":1,"action":"DENIED"}]}`:           "actions[0].referralId",
		`{"actions":[{"referralId":"a","action":"DENIED","why":1}]}`: "actions[0].why",
		`{"actions":["a"]}`: "actions[0]", `{"all":true}`: "all",
	} {
		_, err := ParseModerations([]byte(body))
		e, ok := err.(*core.Error)
		if !ok || e.Field != field {
			t.Errorf("%s: %v, want an error about %s", body, err, field)
		}
	}
}

// A user's links in both forms, and only the selected keys.
func TestUser_Links(t *testing.T) {
	u := UserInfo{
		User:  referral.User{Email: " Ann@Example.com", CustomFields: "{}", Codes: []referral.UserCode{{Program: "classic", Code: "ANN"}, {Program: "vip", Code: "ANNVIP"}}},
		Share: link.Share{Origin: "https://go.example", Tenant: "acme"},
	}
	const mobile = `"https://go.example/s/acme/ANN?rsShareMedium=FACEBOOK&rsEngagementMedium=MOBILE"`
	for field, want := range map[string]string{
		"emailHash":            `"257c57037d384ae37ea27a07e8a01665"`,
		"shareLinks.shareLink": `"https://go.example/s/acme/ANN?rsShareMedium=DIRECT"`, "shareLinks.mobileFacebookShareLink": mobile,
		"shareLinks.MOBILE.facebookShareLink": mobile, "shareLinks.EMBED.linkedinShareLink": `"https://go.example/s/acme/ANN?rsShareMedium=LINKEDIN&rsEngagementMedium=EMBED"`,
		"programShareLinks.classic.cleanShareLink": `"https://go.example/s/acme/ANN"`, "programShareLinks.vip.EMAIL.DIRECT": `"https://go.example/s/acme/ANNVIP?rsShareMedium=DIRECT&rsEngagementMedium=EMAIL"`,
		"programShareLinks.vip.UNKNOWN.DIRECT": `"https://go.example/s/acme/ANNVIP?rsShareMedium=DIRECT"`,
	} {
		if got := gjson.GetBytes(User(u), field).Raw; got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
	for _, c := range []struct {
		fields, extra []string
		want          string
	}{
		{[]string{"email,referable"}, nil, `{"email":" Ann@Example.com","referable":false}`},
		{[]string{"referable", " email ,,x,email"}, nil, `{"email":" Ann@Example.com","referable":false}`},
		{[]string{"x"}, nil, `{}`},
		{nil, []string{"email"}, string(User(u))},
		{[]string{""}, nil, string(User(u))},
		{nil, nil, string(User(u))},
	} {
		f, err := ParseFields(c.fields, c.extra)
		if got := string(f.Of(User(u))); err != nil || got != c.want {
			t.Errorf("%q, %q: %s, %v", c.fields, c.extra, got, err)
		}
	}
	_, err := ParseFields([]string{"email"}, []string{"email"})
	refused(t, "both", err, core.CodeInvalid, "fields")
}

func TestTexts(t *testing.T) {
	for list, want := range map[string]string{
		"[]": "", "": "", `["a.example"]`: "a.example", `["a.example", "b.example:8443"]`: "a.example,b.example:8443",
	} {
		if got := strings.Join(Texts(list), ","); got != want {
			t.Errorf("%s: %q, want %q", list, got, want)
		}
	}
}
