package sender

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/webhooks"
	"kith/core/webhook"
)

// standard agrees with the test vector that the authors of Standard Webhooks publish.
func TestStandard_PublishedVector(t *testing.T) {
	got, err := standard("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	require.NoError(t, err)
	require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", got)
}

// testKey returns the key of testdata/signature.txt, which openssl made.
func testKey(t testing.TB) webhooks.SigningKey {
	t.Helper()
	text, err := os.ReadFile("testdata/key.pem")
	require.NoError(t, err)
	block, _ := pem.Decode(text)
	require.NotNil(t, block)
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	require.NoError(t, err)
	return webhooks.SigningKey{ID: "019ca8a03e806096185df3df", Private: private.(*rsa.PrivateKey)}
}

// Every header equals the one that openssl makes from the same bytes.
func TestSign_Golden(t *testing.T) {
	body, err := os.ReadFile("testdata/body.json")
	require.NoError(t, err)
	want, err := os.ReadFile("testdata/signature.txt")
	require.NoError(t, err)
	h := http.Header{}
	require.NoError(t, sign(h, webhooks.Sending{
		DeliveryKey: webhook.DeliveryKey{Event: "019ca8a03e806096185df3df"}, Body: body, APIKey: "LIVE_DEMO_KEY_0123456789",
		Secrets: []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="},
	}, testKey(t), 1772355600999))
	var got strings.Builder
	require.NoError(t, h.Write(&got))
	require.Equal(t, string(want), strings.ReplaceAll(got.String(), "\r\n", "\n"))
}

func TestSign_InvalidSecret(t *testing.T) {
	require.Error(t, sign(http.Header{}, webhooks.Sending{Secrets: []string{"secret"}}, testKey(t), 1))
}
