//go:build !tinygo

package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core/auth"
	"kith/core/billing"
	"kith/core/link"
	"kith/core/origin"
	"kith/core/wire"
)

func TestParseWebsite(t *testing.T) {
	consent, cookie, share := link.ConsentOptOut, "agreed", "https://go.example"
	for body, want := range map[string]wire.WebsiteUpdate{
		`{}`: {},
		`{"consent":null,"consentCookie":null,"shareOrigin":null,"origins":null,"secureMode":null}`: {},
		`{"consent":"opt-out","consentCookie":"agreed","shareOrigin":"https://go.example","origins":["https://A.example/","https://a.example"],"secureMode":{"lookup-user":"open","get-widget":"disabled"}}`: {
			Consent: &consent, ConsentCookie: &cookie, ShareOrigin: &share, Origins: &[]origin.Origin{"https://a.example"}, SecureMode: "lookup-user=open,get-widget=disabled,",
		},
		`{"origins":[]}`: {Origins: &[]origin.Origin{}},
	} {
		got, err := wire.ParseWebsite([]byte(body))
		require.NoError(t, err, body)
		require.Equal(t, want, got, body)
	}
	for body, want := range map[string]string{
		`{"consent":"never"}`:                                   "consent: must be one of off, opt-in, opt-out",
		`{"origins":["https://a.example/x"]}`:                   "origins[0]: must be an origin such as",
		`{"origins":[1]}`:                                       "origins[0]",
		`{"secureMode":{"fly":"open"}}`:                         "secureMode.fly: there is no endpoint fly",
		`{"secureMode":{"lookup-user":"ajar"}}`:                 "secureMode.lookup-user: lookup-user must be one of signed, open, disabled",
		`{"secureMode":{"lookup-user=open,get-widget":"open"}}`: "secureMode.lookup-user=open,get-widget",
		`{"discountId":"x"}`:                                    "discountId",
		`[]`:                                                    "",
	} {
		_, err := wire.ParseWebsite([]byte(body))
		require.ErrorContains(t, err, want, body)
	}
}

func TestWebsite_RoundTrip(t *testing.T) {
	text := wire.Website(wire.WebsiteSettings{
		Policy: link.Policy{Consent: link.ConsentOptIn, ConsentCookie: "ok"}, SecureMode: auth.DefaultSecureMode(), Origins: []origin.Origin{"https://a.example"},
	})
	require.Equal(t, `{"origins":["https://a.example"],"consent":"opt-in","consentCookie":"ok","shareOrigin":"","secureMode":{"create-user":"signed","upsert-user":"signed",`+
		`"create-cookie-user":"signed","lookup-user":"signed","apply-code":"signed","list-referrals":"signed","get-widget":"open","get-share-links":"signed","track-events":"signed"}}`, string(text))
	in, err := wire.ParseWebsite(text)
	require.NoError(t, err)
	require.Equal(t, link.ConsentOptIn, *in.Consent)
	modes, err := auth.SecureMode{}.With("", in.SecureMode)
	require.NoError(t, err)
	require.Equal(t, auth.DefaultSecureMode(), modes)
}

func TestParseRetriedOperation(t *testing.T) {
	for body, want := range map[string]wire.RetriedOperation{
		`{}`: {}, `{"kind":null,"id":null}`: {}, `{"kind":"coupon","id":"c1"}`: {Kind: billing.WriteCoupon, ID: "c1"},
	} {
		got, err := wire.ParseRetriedOperation([]byte(body))
		require.NoError(t, err, body)
		require.Equal(t, want, got, body)
	}
	for body, want := range map[string]string{
		`{"kind":"refund","id":"t1"}`: "kind: must be subscription, coupon, payment or promotion", `{"kind":"coupon"}`: "give kind and id", `{"id":"c1"}`: "give kind and id", `{"all":true}`: "all",
	} {
		_, err := wire.ParseRetriedOperation([]byte(body))
		require.ErrorContains(t, err, want, body)
	}
}

func TestGatewayLog(t *testing.T) {
	require.Equal(t, `{"count":2,"notifications":[{"id":2,"kind":null,"problem":null,"dateReceived":5,"dateProcessed":null,"replayable":true},`+
		`{"id":1,"kind":"check","problem":"cut","dateReceived":3,"dateProcessed":4,"replayable":false}],"next":1}`,
		string(wire.GatewayNotifications([]billing.Received{{Seq: 2, At: 5, Kept: true}, {Seq: 1, Kind: "check", Problem: "cut", At: 3, Read: 4}}, 1)))
	require.Equal(t, `{"count":1,"operations":[{"kind":"subscription","id":"s1","accountId":"bob","problem":"p","tries":2,"dateNextTry":null}]}`,
		string(wire.GatewayOperations([]billing.Operation{{Kind: billing.ReadSubscription, ID: "s1", Account: "bob", Problem: "p", Tries: 2}})))
	require.Equal(t, `{"retried":3}`, string(wire.RetriedOperations(3)))
}
