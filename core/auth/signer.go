package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"kith/core"
)

// Signer signs texts for one purpose with HMAC-SHA256 under the master key; what
// one signs is noise to a signer of any other purpose, because the purpose is
// part of what is signed. A key derived for each purpose would do the same at
// twice the cost, on every redirect.
type Signer struct {
	master []byte
	// purpose holds no line break: it ends at the first one.
	purpose string
}

// Cookie returns the signer of a tenant's attribution cookies.
func (k Keyring) Cookie(tenant core.TenantAlias) Signer {
	return Signer{k.master, "cookie:" + string(tenant)}
}

// Hop returns the signer of the hop from the edge to the backend.
func (k Keyring) Hop() Signer { return Signer{k.master, "hop"} }

// Sign returns the signature of a text: 43 letters of base64url.
func (s Signer) Sign(text string) string {
	mac := hmac.New(sha256.New, s.master)
	mac.Write([]byte("kith/v1/" + s.purpose + "\n" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Verify reports whether Sign gave this signature for the text. Texts are
// compared, not bytes: base64 has several texts for the same bytes.
func (s Signer) Verify(text, signature string) bool {
	return hmac.Equal([]byte(s.Sign(text)), []byte(signature))
}
