package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"kith/core"
)

// Signer signs texts for one purpose with HMAC-SHA256 under the master key. The
// purpose is part of the signed text, so a signature is not valid for another
// purpose. A derived key for each purpose would double the cost of every redirect.
type Signer struct {
	// masters are the keys; the first one signs.
	masters []master
	// purpose has no line break, because a line break ends it in the signed text.
	purpose string
}

// Cookie returns the signer of a tenant's attribution cookies.
func (k Keyring) Cookie(tenant core.TenantAlias) Signer {
	return Signer{k.masters, "cookie:" + string(tenant)}
}

// CookieUser returns the signer of the cookies that identify a tenant's cookie users.
func (k Keyring) CookieUser(tenant core.TenantAlias) Signer {
	return Signer{k.masters, "cookie-user:" + string(tenant)}
}

// Backup returns the signer of backups.
func (k Keyring) Backup() Signer { return Signer{k.masters, "backup"} }

// Fingerprint identifies the first master key without revealing it.
func (k Keyring) Fingerprint() string { return fingerprintOf(k.masters[0]) }

func fingerprintOf(m master) string {
	if m.fingerprint != "" {
		return m.fingerprint
	}
	return Signer{[]master{m}, "fingerprint"}.Sign("")
}

// Hop returns the signer of the hop from the edge to the backend.
func (k Keyring) Hop() Signer { return Signer{k.masters, "hop"} }

// Identity returns the hash by which a deleted user who must not be tracked is
// recognized. It is the same for the same ids, and reveals nothing about them without
// the master key.
func (k Keyring) Identity(tenant core.TenantAlias, account core.AccountID, user core.UserID) string {
	by := Signer{[]master{{key: k.identityKey()}}, "do-not-track:" + string(tenant)}
	return by.Sign(strconv.Itoa(len(account)) + ":" + string(account) + string(user))
}

// CanSign reports whether the signer has a key. The zero Signer has none.
func (s Signer) CanSign() bool { return len(s.masters) > 0 }

// Sign returns the signature of a text: 43 characters of base64url.
func (s Signer) Sign(text string) string { return s.by(s.masters[0], text) }

func (s Signer) by(m master, text string) string {
	mac := m.mac
	if mac == nil {
		mac = hmac.New(sha256.New, m.key)
	} else {
		mac.Reset()
	}
	mac.Write([]byte("kith/v1/" + s.purpose + "\n" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Verify reports whether signature is that of the text under one of the keys. It
// compares the encoded texts, because base64 has several texts for the same bytes.
func (s Signer) Verify(text, signature string) bool {
	for _, m := range s.masters {
		if hmac.Equal([]byte(s.by(m, text)), []byte(signature)) {
			return true
		}
	}
	return false
}
