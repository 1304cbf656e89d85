package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"kith/core"
)

// Signer signs texts for one purpose with HMAC-SHA256 under the master key; what
// one signs is noise to a signer of any other purpose, because the purpose is
// part of what is signed. A key derived for each purpose would do the same at
// twice the cost, on every redirect.
type Signer struct {
	// masters are the keys, the one that signs first.
	masters [][]byte
	// purpose holds no line break: it ends at the first one.
	purpose string
}

// Cookie returns the signer of a tenant's attribution cookies.
func (k Keyring) Cookie(tenant core.TenantAlias) Signer {
	return Signer{k.masters, "cookie:" + string(tenant)}
}

// CookieUser returns the signer of the cookies that know a tenant's cookie users.
func (k Keyring) CookieUser(tenant core.TenantAlias) Signer {
	return Signer{k.masters, "cookie-user:" + string(tenant)}
}

// Backup returns the signer of backups.
func (k Keyring) Backup() Signer { return Signer{k.masters, "backup"} }

// Fingerprint tells the master key that signs from others, and nothing about it.
func (k Keyring) Fingerprint() string { return Signer{k.masters, "fingerprint"}.Sign("") }

// Hop returns the signer of the hop from the edge to the backend.
func (k Keyring) Hop() Signer { return Signer{k.masters, "hop"} }

// Identity returns what remains of a user who must not be tracked: the same for
// the same ids, telling nothing of them to who has not the master key.
func (k Keyring) Identity(tenant core.TenantAlias, account core.AccountID, user core.UserID) string {
	by := Signer{[][]byte{k.identityKey()}, "do-not-track:" + string(tenant)}
	return by.Sign(strconv.Itoa(len(account)) + ":" + string(account) + string(user))
}

// Sign returns the signature of a text: 43 letters of base64url.
func (s Signer) Sign(text string) string { return s.by(s.masters[0], text) }

func (s Signer) by(master []byte, text string) string {
	mac := hmac.New(sha256.New, master)
	mac.Write([]byte("kith/v1/" + s.purpose + "\n" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Verify reports whether one of the keys gives this signature for the text. Texts are
// compared, not bytes: base64 has several texts for the same bytes.
func (s Signer) Verify(text, signature string) bool {
	for _, master := range s.masters {
		if hmac.Equal([]byte(s.by(master, text)), []byte(signature)) {
			return true
		}
	}
	return false
}
