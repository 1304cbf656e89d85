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
	const ids = `{"user_id":"u","account_id":"a","account_status":"TRIAL"}`
	body := func(more string) string { return strings.TrimSuffix(ids, "}") + "," + more + "}" }
	for name, c := range map[string]struct {
		body  []byte
		found bool
		ok    bool
	}{
		"values in the order of their keys": {withChecksum(ids, "aTRIALu"), true, true},
		"not in the order of the body":      {withChecksum(ids, "uaTRIAL"), true, false},
		"of the HMAC itself": {
			[]byte(body(`"checksum":"uDW/yHOa8GUF1i4bnURCcw2B265K9BTE4R02bneaP90="`)), true, true,
		},
		"an init call": {
			withChecksum(`{"tenant_alias":"acme","account_id":"a","account_status":"FREE","payment_provider_id":null,"user_id":"u","email":"b@c.d","first_name":"Bé","last_name":"","mode":"POPUP","locale":"en_US","fb_share_image":"i"}`,
				"aFREEb@c.dBéacmeu"), true, true,
		},
		"cookies of the script are skipped": {withChecksum(body(`"cookies":"e30"`), "aTRIALu"), true, true},
		"escapes are decoded":               {withChecksum(`{"user_id":"\u0075","account_id":"a","account_status":"PAID"}`, "aPAIDu"), true, true},
		"in the REST call's spelling":       {withChecksum(`{"accountId":"a","id":"u","accountStatus":"PAID"}`, "aPAIDu"), true, false},
		"a key that is not covered":         {withChecksum(body(`"customFields":{}`), "aTRIALu"), true, false},
		"another key that is not covered":   {withChecksum(body(`"countryCode":"CA"`), "aTRIALCAu"), true, false},
		"a number":                          {withChecksum(body(`"email":7`), "aTRIAL7u"), true, false},
		"without a status":                  {withChecksum(`{"user_id":"u","account_id":"a"}`, "au"), true, false},
		// The same text for accounts aTRIAL and a.
		"two statuses":                    {withChecksum(body(`"email":"TRIALx"`), "aTRIALTRIALxu"), true, false},
		"a value missing in the checksum": {withChecksum(body(`"email":"b@c.d"`), "aTRIALu"), true, false},
		"mode is skipped":                 {withChecksum(body(`"mode":"POPUP"`), "aTRIALPOPUPu"), true, false},
		"another user":                    {withChecksum(`{"user_id":"v","account_id":"a","account_status":"TRIAL"}`, "aTRIALv"), true, false},
		"another account":                 {withChecksum(`{"user_id":"u","account_id":"b","account_status":"TRIAL"}`, "bTRIALu"), true, false},
		"no ids":                          {withChecksum(`{"email":"b@c.d"}`, "b@c.d"), true, false},
		"a token's text":                  {withChecksum(`{"user_id":"u","account_id":"eyJ","account_status":"TRIAL"}`, "eyJTRIALu"), true, false},
		"without padding":                 {[]byte(strings.Replace(string(withChecksum(ids, "aTRIALu")), "=\"", "\"", 1)), true, false},
		"none":                            {[]byte(ids), false, true},
		"null":                            {[]byte(`{"user_id":"u","account_id":"a","checksum":null}`), false, true},
		"empty":                           {[]byte(`{"user_id":"u","account_id":"a","checksum":""}`), false, true},
		"not an object":                   {[]byte(`["checksum"]`), false, true},
		"not JSON":                        {[]byte(`{"checksum":"x"`), false, true},
		"empty body":                      {nil, false, true},
	} {
		found, err := VerifyChecksum([]string{apiKey}, "a", "u", c.body)
		if found != c.found || (err == nil) != c.ok {
			t.Errorf("%s: %v, %v", name, found, err)
		}
		var e *core.Error
		if err != nil && (!errors.As(err, &e) || e.Code != core.CodeUnauthenticated || e.RS != "RS006") {
			t.Errorf("%s: %#v", name, err)
		}
	}
	if _, err := VerifyChecksum([]string{""}, "a", "u", withChecksum(ids, "aTRIALu")); err == nil {
		t.Error("a checksum under an empty secret is accepted")
	}
	if _, err := VerifyChecksum([]string{apiKey + "x"}, "a", "u", withChecksum(ids, "aTRIALu")); err == nil {
		t.Error("another tenant's checksum is accepted")
	}
}
