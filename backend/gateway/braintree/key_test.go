package braintree_test

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/gateway/braintree"
)

// integration is the key in the tests of the official SDKs.
var integration = braintree.Key{Public: "integration_public_key", Private: "integration_private_key"}

// The answer equals that of the official Ruby, Node and Go clients (gateway 1.1.7).
func TestAnswerChallenge_KnownAnswer(t *testing.T) {
	t.Parallel()
	answer, err := braintree.Keys{integration, {Public: "old", Private: "o"}}.AnswerChallenge("20f9f8ed05f77439fe955c977e4c8a53")
	require.NoError(t, err)
	require.Equal(t, "integration_public_key|d9b899556c966b3f06945ec21311865d35df3ce4", answer)
}

// delivery is a form that the gateway posted in 2017, with keys that are not valid any
// more. It is from the tests of braintree-go.
const delivery = "bt_signature=sz9g7zhxz8838v7h%7C4b532339b3107eae876d7637d59217858f320098&bt_payload=PD94bWwgdmVyc2lvbj0iMS4wIiBlbmNvZGluZz0iVVRGLTgiPz4KPG5vdGlm%0AaWNhdGlvbj4KICA8a2luZD5jaGVjazwva2luZD4KICA8dGltZXN0YW1wIHR5%0AcGU9ImRhdGV0aW1lIj4yMDE3LTA0LTI2VDA3OjEyOjI0WjwvdGltZXN0YW1w%0APgogIDxzdWJqZWN0PgogICAgPGNoZWNrIHR5cGU9ImJvb2xlYW4iPnRydWU8%0AL2NoZWNrPgogIDwvc3ViamVjdD4KPC9ub3RpZmljYXRpb24%2BCg%3D%3D%0A"

var deliveryKey = braintree.Key{Public: "sz9g7zhxz8838v7h", Private: "0c809a2d2e8f4e4c817900ff441c9554"}

func delivered(t *testing.T) (signature, payload string) {
	t.Helper()
	form, err := url.ParseQuery(delivery)
	require.NoError(t, err)
	return form.Get("bt_signature"), form.Get("bt_payload")
}

func TestVerify_RealDelivery(t *testing.T) {
	t.Parallel()
	signature, payload := delivered(t)
	require.NoError(t, braintree.Keys{deliveryKey}.Verify(signature, payload))
	n, err := braintree.ParseNotification(payload)
	require.NoError(t, err)
	require.Equal(t, braintree.Notification{Kind: braintree.Check}, n)
}

// While a key is replaced, both the gateway and the service may have two.
func TestVerify_Rotation(t *testing.T) {
	t.Parallel()
	signature, payload := delivered(t)
	other := braintree.Key{Public: "other", Private: "x"}
	both := "other|" + other.Sign(payload) + "&" + signature
	require.NoError(t, braintree.Keys{integration, deliveryKey}.Verify(signature, payload), "the older of two")
	require.NoError(t, braintree.Keys{deliveryKey}.Verify(both, payload), "the second of two pairs")
	require.NoError(t, braintree.Keys{other}.Verify(both, payload), "the first of two pairs")
	reissued := braintree.Key{Public: deliveryKey.Public, Private: "new"}
	require.NoError(t, braintree.Keys{reissued, deliveryKey}.Verify(signature, payload), "two private keys under one name")
}

// A signature may have at most 8 pairs, in any order.
func TestVerify_BoundsPairs(t *testing.T) {
	t.Parallel()
	signature, payload := delivered(t)
	keys := braintree.Keys{integration, deliveryKey}
	wrong := "sz9g7zhxz8838v7h|" + integration.Sign(payload) + "&"
	require.NoError(t, keys.Verify(strings.Repeat(wrong, 7)+signature, payload))
	require.ErrorIs(t, keys.Verify(strings.Repeat(wrong, 8)+signature, payload), braintree.ErrSignature)
	require.ErrorIs(t, keys.Verify(strings.Repeat("&", 8)+signature, payload), braintree.ErrSignature)
}

func TestVerify_LastLineBreakMayBeTrimmed(t *testing.T) {
	t.Parallel()
	signature, payload := delivered(t)
	require.NoError(t, braintree.Keys{deliveryKey}.Verify(signature, strings.TrimSuffix(payload, "\n")))
}

func TestVerify_Refuses(t *testing.T) {
	t.Parallel()
	signature, payload := delivered(t)
	keys := braintree.Keys{deliveryKey}
	sign := func(k braintree.Key, payload string) string { return k.Public + "|" + k.Sign(payload) }
	for name, c := range map[string]struct {
		keys               braintree.Keys
		signature, payload string
	}{
		"no signature":                     {keys, "", payload},
		"no payload":                       {keys, sign(deliveryKey, ""), ""},
		"no keys":                          {nil, signature, payload},
		"a key without text":               {braintree.Keys{{Public: "p"}}, "p|" + braintree.Key{}.Sign(payload), payload},
		"foreign key":                      {keys, sign(integration, payload), payload},
		"foreign signature under our name": {keys, "sz9g7zhxz8838v7h|" + integration.Sign(payload), payload},
		"upper case":                       {keys, strings.ToUpper(signature), payload},
		"no name":                          {keys, strings.TrimPrefix(signature, deliveryKey.Public), payload},
		"no sum":                           {keys, deliveryKey.Public + "|", payload},
		"no bar":                           {keys, deliveryKey.Public, payload},
		"changed payload":                  {keys, signature, "A" + payload[1:]},
		"inner line breaks stripped":       {keys, signature, strings.ReplaceAll(payload, "\n", "") + "\n"},
		"carriage return":                  {keys, sign(deliveryKey, payload+"\r\n"), payload + "\r\n"},
		"blank":                            {keys, sign(deliveryKey, payload+" "), payload + " "},
		"URL-safe base64":                  {keys, sign(deliveryKey, "PD94-_"), "PD94-_"},
		"too long":                         {keys, sign(deliveryKey, strings.Repeat("A", braintree.MaxPayload+1)), strings.Repeat("A", braintree.MaxPayload+1)},
		"too many pairs":                   {keys, strings.Repeat("a|b&", 4<<10) + signature, payload},
	} {
		require.ErrorIs(t, c.keys.Verify(c.signature, c.payload), braintree.ErrSignature, name)
	}
	long := strings.Repeat("A", braintree.MaxPayload)
	require.NoError(t, keys.Verify(sign(deliveryKey, long), long))
}

// AnswerChallenge signs only challenges. A client that could get other texts signed
// could forge notifications, since the same key signs both.
func TestAnswerChallenge_IsNoSigningOracle(t *testing.T) {
	t.Parallel()
	keys := braintree.Keys{integration}
	forged := base64.StdEncoding.EncodeToString([]byte(
		"<notification><kind>subscription_charged_successfully</kind><subject><subscription><id>s</id></subscription></subject></notification>"))
	// An endpoint that signs any text would give away this signature.
	require.NoError(t, keys.Verify(integration.Public+"|"+integration.Sign(forged), forged))
	hex := "20f9f8ed05f77439fe955c977e4c8a53"
	for _, challenge := range []string{
		forged, forged + "\n", "", hex[:19], hex + "0", strings.ToUpper(hex), hex + "\n", "\n" + hex, hex[:31] + "g", hex[:31] + "=",
		hex + "\n" + forged, hex[:20] + " ", "é" + hex[:20], strings.Repeat("\x00", 20),
	} {
		answer, err := keys.AnswerChallenge(challenge)
		require.ErrorIs(t, err, braintree.ErrChallenge, "%q", challenge)
		require.Empty(t, answer)
	}
	for _, none := range []braintree.Keys{nil, {{Public: "p"}}} {
		_, err := none.AnswerChallenge(hex)
		require.ErrorIs(t, err, braintree.ErrChallenge)
	}
}

// No text that is signed as a challenge parses as a notification, and its answer is not
// accepted as the signature of one.
func FuzzAnswerChallenge(f *testing.F) {
	f.Add("20f9f8ed05f77439fe955c977e4c8a53")
	f.Add(base64.StdEncoding.EncodeToString([]byte("<notification><kind>check</kind></notification>")))
	f.Fuzz(func(t *testing.T, challenge string) {
		keys := braintree.Keys{integration}
		answer, err := keys.AnswerChallenge(challenge)
		if err != nil {
			return
		}
		for _, payload := range []string{challenge, challenge + "\n"} {
			_, err := braintree.ParseNotification(payload)
			require.Error(t, err)
			require.ErrorIs(t, keys.Verify(answer, payload), braintree.ErrSignature)
		}
	})
}

// Verify accepts only payloads that a key signed.
func FuzzVerify(f *testing.F) {
	form, err := url.ParseQuery(delivery)
	require.NoError(f, err)
	f.Add(form.Get("bt_signature"), form.Get("bt_payload"))
	f.Add("a|b&c", "PD94\n")
	f.Fuzz(func(t *testing.T, signature, payload string) {
		key := braintree.Key{Public: "p", Private: "q"}
		if (braintree.Keys{key}).Verify(signature, payload) != nil {
			return
		}
		whole, trimmed := strings.Contains(signature, "p|"+key.Sign(payload)), strings.Contains(signature, "p|"+key.Sign(payload+"\n"))
		require.True(t, whole || trimmed)
	})
}
