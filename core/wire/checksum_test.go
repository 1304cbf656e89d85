package wire

import (
	"errors"
	"strings"
	"testing"

	"kith/core"
)

// withChecksum adds to a body the checksum of a text.
func withChecksum(body, text string) []byte {
	return []byte(strings.TrimSuffix(body, "}") + `,"checksum":"` + checksum(apiKey, text) + `"}`)
}

func TestVerifyChecksum(t *testing.T) {
	const ids = `{"user_id":"u","account_id":"a"}`
	for name, c := range map[string]struct {
		body  []byte
		found bool
		ok    bool
	}{
		"values in the order of their keys": {withChecksum(ids, "au"), true, true},
		"not in the order of the body":      {withChecksum(ids, "ua"), true, false},
		"of the HMAC itself": {
			[]byte(`{"account_id":"a","user_id":"u","checksum":"EgdO3oUVyVELMrjv+noa2hLAyKllDt5SE167bitqm5s="}`), true, true,
		},
		"an init call": {
			withChecksum(`{"tenant_alias":"acme","account_id":"a","payment_provider_id":null,"user_id":"u","email":"b@c.d","first_name":"Bé","last_name":"","mode":"POPUP","locale":"en_US","fb_share_image":"i"}`,
				"ab@c.dBéacmeu"), true, true,
		},
		"what the script adds is skipped": {withChecksum(`{"user_id":"u","account_id":"a","cookies":"e30"}`, "au"), true, true},
		"in the REST call's spelling":     {withChecksum(`{"accountId":"a","id":"u"}`, "au"), true, true},
		"numbers and booleans":            {withChecksum(`{"user_id":"u","account_id":"a","referable":true,"dateUsTaxFormSubmitted":7}`, "a7trueu"), true, true},
		"an escape is what it stands for": {withChecksum(`{"user_id":"\u0075","account_id":"a"}`, "au"), true, true},
		"more said than covered":          {withChecksum(`{"user_id":"u","account_id":"a","email":"b@c.d"}`, "au"), true, false},
		"mode must not be covered":        {withChecksum(`{"user_id":"u","account_id":"a","mode":"POPUP"}`, "aPOPUPu"), true, false},
		"another user":                    {withChecksum(`{"user_id":"v","account_id":"a"}`, "av"), true, false},
		"another account":                 {withChecksum(`{"user_id":"u","account_id":"b"}`, "bu"), true, false},
		"no ids":                          {withChecksum(`{"email":"b@c.d"}`, "b@c.d"), true, false},
		"an object":                       {withChecksum(`{"user_id":"u","account_id":"a","customFields":{}}`, "au"), true, false},
		"a list":                          {withChecksum(`{"user_id":"u","account_id":"a","segments":[]}`, "au"), true, false},
		"a token's text":                  {withChecksum(`{"user_id":"u","account_id":"eyJ"}`, "eyJu"), true, false},
		"without padding":                 {[]byte(strings.Replace(string(withChecksum(ids, "au")), "=\"", "\"", 1)), true, false},
		"none":                            {[]byte(ids), false, true},
		"null":                            {[]byte(`{"user_id":"u","account_id":"a","checksum":null}`), false, true},
		"empty":                           {[]byte(`{"user_id":"u","account_id":"a","checksum":""}`), false, true},
		"no object":                       {[]byte(`["checksum"]`), false, true},
		"no JSON":                         {[]byte(`{"checksum":"x"`), false, true},
		"nothing":                         {nil, false, true},
	} {
		found, err := VerifyChecksum(apiKey, "a", "u", c.body)
		if found != c.found || (err == nil) != c.ok {
			t.Errorf("%s: %v, %v", name, found, err)
		}
		var e *core.Error
		if err != nil && (!errors.As(err, &e) || e.Code != core.CodeUnauthenticated || e.RS != "RS006") {
			t.Errorf("%s: %#v", name, err)
		}
	}
	if _, err := VerifyChecksum("", "a", "u", withChecksum(ids, "au")); err == nil {
		t.Error("a tenant without a key checked something")
	}
	if _, err := VerifyChecksum(apiKey+"x", "a", "u", withChecksum(ids, "au")); err == nil {
		t.Error("another tenant's checksum is taken")
	}
}
