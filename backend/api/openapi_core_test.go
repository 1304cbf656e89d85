package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kith/core"
	"kith/core/analytics"
	"kith/core/auth"
	"kith/core/billing"
	"kith/core/conversion"
	"kith/core/event"
	"kith/core/job"
	"kith/core/link"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/webhook"
	"kith/core/widget"
	"kith/core/wire"
)

// at returns the part of the document at a path: keys separated by slashes.
func (d document) at(t *testing.T, path string) any {
	t.Helper()
	node := d.tree
	for key := range strings.SplitSeq(path, "/") {
		inner, ok := node.(map[string]any)
		require.True(t, ok, "%s has no object before %s", path, key)
		require.Contains(t, inner, key, path)
		node = inner[key]
	}
	return node
}

// The limits in the document are those of core.
func TestOpenAPI_LimitsAreThoseOfCore(t *testing.T) {
	t.Parallel()
	d := served(t)
	for path, want := range map[string]int{
		"EventsInput/properties/events/maxItems":                   event.MaxEvents,
		"EventInput/properties/key/maxLength":                      event.MaxKey,
		"ModerationsInput/properties/actions/maxItems":             referral.MaxModerations,
		"UserInput/properties/segments/maxItems":                   referral.MaxSegments,
		"ProgramSharingInput/properties/allowedHosts/maxItems":     referral.MaxAllowedHosts,
		"FuelTankCodesInput/properties/codes/maxItems":             reward.MaxTankCodes,
		"RewardInput/properties/assignedCredit/maximum":            reward.MaxValue,
		"RewardInput/properties/valueInCents/maximum":              reward.MaxValue,
		"OfferInput/properties/credit/maximum":                     reward.MaxValue,
		"OfferInput/properties/tiers/maxItems":                     conversion.MaxTiers,
		"ConversionRule/properties/conditions/maxItems":            conversion.MaxConditions,
		"GatewayConnectionInput/properties/furtherKeys/maxItems":   billing.MaxKeys - 1,
		"StripeConnectionInput/properties/signingSecrets/maxItems": billing.MaxKeys - 1,
		"StoredWidgetInput/properties/template/maxLength":          widget.MaxTemplate,
		"../parameters/limitParameter/schema/maximum":              maxLimit,
		"../parameters/limitParameter/schema/default":              defaultLimit,
		"../parameters/offsetParameter/schema/maximum":             maxOffset,
	} {
		path = strings.Replace("components/schemas/"+path, "schemas/../", "", 1)
		assert.Equal(t, json.Number(strconv.Itoa(want)), d.at(t, path), path)
	}
}

// check returns a function that returns only the error of a parser.
func check[T any](parse func(field, s string) (T, error)) func(string) error {
	return func(s string) error {
		_, err := parse("field", s)
		return err
	}
}

// The patterns in the document accept the same texts as core.
func TestOpenAPI_PatternsAreThoseOfCore(t *testing.T) {
	t.Parallel()
	schemas := compiler(t, served(t))
	texts := []string{
		"", "a", "A-b_9", "a.b", "a b", "é", "a/b", "\x00", "a\x1f", "a\x7f", "USD", "usd", "EURO", "en", "en_US", "_en", "e",
		"P30D", "PT12H", "P1W2DT3H4M5S", "P1M", "P", "PT", "P1DT", "PT1S1H", "30D", "w/x", "p/classic/w/referrerWidget", "p/c/x", "p//w/x",
		"REFERRER_WIDGET", "1", "1,2", "2,1,3", "1,", "-1", "http://a.example", "ftp://a.example",
		strings.Repeat("a", 7), strings.Repeat("a", 8), strings.Repeat("a", 16), strings.Repeat("a", 17), strings.Repeat("a", 64),
		strings.Repeat("a", 65), strings.Repeat("a", 128), strings.Repeat("a", 200), strings.Repeat("a", 201),
	}
	for name, valid := range map[string]func(string) error{
		"TenantAlias":       func(s string) error { _, err := core.ParseTenantAlias(s); return err },
		"AccountId":         check(core.ParseAccountID),
		"UserId":            check(core.ParseUserID),
		"PaymentProviderId": check(core.ParsePaymentProviderID),
		"ReferralCode":      check(core.ParseReferralCode),
		"ProgramKey":        check(core.ParseProgramKey),
		"IdempotencyKey":    check(core.ParseIdempotencyKey),
		"MaybeDuration":     check(core.ParseDuration),
		"DateSpan":          check(core.ParseSpan),
		"Locale":            check(wire.ParseLocale),
		"KeyName":           check(auth.ParseKeyName),
	} {
		schema, err := schemas.Compile(documentURL + "#/components/schemas/" + name)
		require.NoError(t, err)
		for _, text := range texts {
			assert.Equal(t, valid(text) == nil, schema.Validate(text) == nil, "%s of %q: %v", name, text, valid(text))
		}
	}
}

// The document lists the reasons for which an order or a side of it earns nothing.
func TestOpenAPI_ListsEveryReason(t *testing.T) {
	t.Parallel()
	text, _ := served(t).at(t, "components/schemas/OrderReason/properties/code/description").(string)
	for _, reason := range conversion.Reasons() {
		assert.Regexp(t, "[ ]"+string(reason)+"[,.]", text)
	}
}

// Core accepts every value of an enumeration in the document.
func TestOpenAPI_WordsAreThoseOfCore(t *testing.T) {
	t.Parallel()
	d := served(t)
	for name, valid := range map[string]func(string) error{
		"SubscriptionStatus": check(referral.ParseStatus),
		"BillingInterval":    check(referral.ParseInterval),
		"RewardType":         check(reward.ParseKind),
		"RewardSource":       check(reward.ParseSource),
		"FraudHandling":      check(referral.ParseHandling),
		"SideStatus":         check(referral.ParseSideStatus),
		"ExportType":         check(job.ParseExportType),
		"FileFormat":         check(job.ParseFormat),
		"DateFormat":         check(job.ParseExportDates),
		"DeliveryState":      check(webhook.ParseState),
		"KeyRole":            check(auth.ParseRole),
		"MemberRole":         check(people.ParseRole),
		"ShareMedium": func(s string) error {
			if _, ok := link.ParseShareMedium(s); !ok {
				return errors.New("not a share medium")
			}
			return nil
		},
		"CountedShareMedium": check(analytics.ParseShareMedium),
		"AnalyticsInterval":  check(analytics.ParseInterval),
		"ReferrerRank":       check(analytics.ParseRank),
		"EngagementMedium": func(s string) error {
			_, err := analytics.ParseEngagementMedium("field", s, "")
			return err
		},
	} {
		words, ok := d.at(t, "components/schemas/"+name+"/enum").([]any)
		require.True(t, ok, name)
		for _, word := range words {
			assert.NoError(t, valid(word.(string)), name)
		}
		assert.Error(t, valid("NONSENSE"), name)
	}
	assert.Len(t, d.at(t, "components/schemas/ExportType/enum"), len(job.ExportTypes()))
	assert.Len(t, d.at(t, "components/schemas/KeyRole/enum"), len(auth.Roles()))
	assert.Len(t, d.at(t, "components/schemas/MemberRole/enum"), len(people.Roles()))
}

// exportParams returns a function that parses the params of an export of users: form,
// with an object in place of its %s.
func exportParams(form string) func([]byte) error {
	return func(object []byte) error {
		_, err := wire.ParseJobParams(job.User, fmt.Sprintf(form, object))
		return err
	}
}

// A body may have the keys that the document names, and no other.
func TestOpenAPI_KeysAreThoseOfWire(t *testing.T) {
	t.Parallel()
	d := served(t)
	for name, parse := range map[string]func([]byte) error{
		"AccountInput":             func(b []byte) error { _, err := wire.ParseAccount("shop", b); return err },
		"UserInput":                func(b []byte) error { _, err := wire.ParseUser("demo", "bob", "bob", b); return err },
		"EventsInput":              func(b []byte) error { _, err := wire.ParseEvents("bob", "bob", b); return err },
		"GraphQLRequest":           func(b []byte) error { _, err := wire.ParseGraphQL(b); return err },
		"RewardInput":              func(b []byte) error { _, err := wire.ParseReward("bob", "bob", b); return err },
		"RedemptionInput":          func(b []byte) error { _, err := wire.ParseRedemption("id", b); return err },
		"BulkRedemptionInput":      func(b []byte) error { _, err := wire.ParseBulkRedemption(b); return err },
		"DiscountInput":            func(b []byte) error { _, err := wire.ParseDiscountRegistration("shop", b); return err },
		"ProgramInput":             func(b []byte) error { _, err := wire.ParseProgram("", b); return err },
		"FuelTankCodesInput":       func(b []byte) error { _, err := wire.ParseTankCodes(b); return err },
		"ModerationsInput":         func(b []byte) error { _, err := wire.ParseModerations(b); return err },
		"ExportInput":              func(b []byte) error { _, err := wire.ParseExport("demo", b); return err },
		"WebhookSubscriptionInput": func(b []byte) error { _, err := wire.ParseWebhookSubscription(b); return err },
		"PipelineSettingsInput":    func(b []byte) error { _, err := wire.ParsePipelineSettings(b); return err },
		"ReplayInput":              func(b []byte) error { _, err := wire.ParseReplay(b); return err },
		"GatewayConnectionInput":   func(b []byte) error { _, err := wire.ParseConnection(b); return err },
		"StripeConnectionInput":    func(b []byte) error { _, err := wire.ParseStripeSettings(b); return err },
		"StoredWidgetInput":        func(b []byte) error { _, err := wire.ParseWidget(b); return err },
		"ExportParamsInput":        exportParams(`%s`),
		"ExportFieldsInput":        exportParams(`{"fields":%s}`),
		"KeyInput":                 func(b []byte) error { _, err := wire.ParseNewKey(b); return err },
		"InvitationInput":          func(b []byte) error { _, err := wire.ParseInvitation(b); return err },
		"MemberRoleInput":          func(b []byte) error { _, err := wire.ParseMemberRole(b); return err },
		"CancellationInput":        func(b []byte) error { _, err := wire.ParseCancellation(b); return err },
		"SftpKeyInput":             func(b []byte) error { _, err := wire.ParseSFTPKey(b); return err },
		"KeyRotationInput":         func(b []byte) error { _, err := wire.ParseOverlap(b); return err },
		"TrialInput":               func(b []byte) error { _, err := wire.ParseTrial(b); return err },
		"Nothing":                  wire.ParseNothing,
	} {
		schema, ok := d.at(t, "components/schemas/"+name).(map[string]any)
		require.True(t, ok, name)
		assert.Equal(t, false, schema["additionalProperties"], "%s is not closed", name)
		assert.ErrorContains(t, parse([]byte(`{"nonsense":null}`)), "nonsense: is not a key of this request", name)
		properties, _ := schema["properties"].(map[string]any)
		for key := range properties {
			if err := parse([]byte(`{"` + key + `":null}`)); err != nil {
				assert.NotContains(t, err.Error(), "is not a key", "%s of %s", key, name)
			}
		}
	}
}

// verbs matches operation ids, which begin with one of these verbs.
var verbs = regexp.MustCompile(`^(answer|apply|block|cancel|connect|count|create|delete|disconnect|download|fill|follow|get|invite|list|log|` +
	`moderate|open|query|receive|redeem|register|render|replay|revoke|rotate|run|sync|test|try|unblock|update|upload|upsert)[A-Z][A-Za-z]+$`)

// Operation ids begin with a verb, and no two names are equal: client generators turn
// schemas into types and operations into methods.
func TestOpenAPI_NamesSuitGenerators(t *testing.T) {
	t.Parallel()
	d := served(t)
	seen := map[string]bool{}
	for _, section := range []string{"schemas", "responses", "requestBodies", "parameters"} {
		named, ok := d.at(t, "components/"+section).(map[string]any)
		require.True(t, ok)
		for name := range named {
			assert.False(t, seen[strings.ToLower(name)], "two components are called %s", name)
			seen[strings.ToLower(name)] = true
		}
	}
	for _, o := range d.operations(t) {
		assert.Regexp(t, verbs, o.body.OperationID)
		assert.False(t, seen[o.body.OperationID], "two operations are called %s", o.body.OperationID)
		seen[o.body.OperationID] = true
	}
	checkTypes(t, d.tree, "")
}

// checkTypes checks every schema below node: a number has a format, since generators
// otherwise use 32 bits; a schema has one type; and no component has a default, which a
// generated client would send.
func checkTypes(t *testing.T, node any, at string) {
	t.Helper()
	switch node := node.(type) {
	case []any:
		for i, one := range node {
			checkTypes(t, one, at+"/"+strconv.Itoa(i))
		}
	case map[string]any:
		kind, isText := node["type"].(string)
		if _, isList := node["type"].([]any); isList {
			assert.Fail(t, "the schema has more than one type", at)
		}
		if isText && slices.Contains([]string{"integer", "number"}, kind) {
			assert.Contains(t, node, "format", at)
		}
		if strings.HasPrefix(at, "/components/schemas/") && isText {
			assert.NotContains(t, node, "default", at)
		}
		for key, one := range node {
			// The names of events, which are keys in examples, have spaces.
			if !strings.Contains(at, "/example") {
				assert.NotContains(t, key, " ", "%s: a key with a space; put a text that has a comma in quotes", at)
			}
			checkTypes(t, one, at+"/"+key)
		}
	}
}

// Each property, parameter and header has a description, of its own or of the schema that
// it refers to: it is what client packages and the pages of the API show.
func TestOpenAPI_EveryValueIsDescribed(t *testing.T) {
	t.Parallel()
	d := served(t)
	found := 0
	d.eachValue(d.tree, "", func(at string, value any) {
		found++
		assert.True(t, d.isDescribed(t, value), "%s: add a description: meaning, unit, limits, and what null or a missing value means", at)
	})
	assert.Greater(t, found, 900)
}

// Each schema has a description of its own, which the pages of the API show above its keys.
func TestOpenAPI_EverySchemaIsDescribed(t *testing.T) {
	t.Parallel()
	d := served(t)
	schemas, _ := d.at(t, "components/schemas").(map[string]any)
	assert.Greater(t, len(schemas), 200)
	for name, schema := range schemas {
		assert.True(t, d.isDescribed(t, schema), "%s: add a description: one sentence that says what it is", name)
	}
}

// eachValue calls do for every property, parameter and header below node, with its path.
func (d document) eachValue(node any, at string, do func(at string, value any)) {
	inner, isList := node.([]any)
	for i, one := range inner {
		d.eachValue(one, at+"/"+strconv.Itoa(i), do)
	}
	members, _ := node.(map[string]any)
	if _, isParameter := members["in"].(string); isParameter && !isList {
		do(at, node)
	}
	for key, one := range members {
		named, _ := one.(map[string]any)
		if key == "properties" || key == "headers" {
			for name, value := range named {
				do(at+"/"+key+"/"+name, value)
			}
		}
		if !strings.HasPrefix(key, "example") && !strings.HasPrefix(key, "x-") {
			d.eachValue(one, at+"/"+key, do)
		}
	}
}

// isDescribed reports whether a value has a description, or refers to a component that has.
func (d document) isDescribed(t *testing.T, value any) bool {
	t.Helper()
	members, _ := value.(map[string]any)
	if text, _ := members["description"].(string); text != "" {
		return true
	}
	if ref, _ := members["$ref"].(string); ref != "" {
		return d.isDescribed(t, d.at(t, strings.TrimPrefix(ref, "#/")))
	}
	all, _ := members["allOf"].([]any)
	return slices.ContainsFunc(all, func(one any) bool { return d.isDescribed(t, one) })
}

// An empty query parameter counts as missing. The document says so for each optional
// parameter whose schema does not allow any string.
func TestOpenAPI_ParametersMayBeEmpty(t *testing.T) {
	t.Parallel()
	d := served(t)
	found := 0
	eachParameter(d.tree, func(p map[string]any) {
		schema, _ := p["schema"].(map[string]any)
		if p["in"] != "query" || p["required"] == true || len(schema) == 1 && schema["type"] == "string" {
			return
		}
		found++
		assert.Equal(t, true, p["allowEmptyValue"], "%v", p["name"])
	})
	assert.NotZero(t, found)
}

// eachParameter calls do for every parameter below node, which is an object with the key
// "in".
func eachParameter(node any, do func(map[string]any)) {
	switch node := node.(type) {
	case []any:
		for _, one := range node {
			eachParameter(one, do)
		}
	case map[string]any:
		if _, ok := node["in"].(string); ok {
			do(node)
		}
		for _, one := range node {
			eachParameter(one, do)
		}
	}
}
