package referral

import (
	"crypto/md5" // #nosec G501 -- see EmailHash
	"encoding/hex"
	"strings"
)

// EmailHash is the MD5 of an address, by which picture services know it
// (reference, 1.2), or empty when there is none. It hides nothing: addresses can
// be guessed.
func EmailHash(email string) string {
	address := strings.ToLower(strings.TrimSpace(email))
	if address == "" {
		return ""
	}
	sum := md5.Sum([]byte(address)) // #nosec G401 -- clients know the hash of an address as MD5; it guards nothing
	return hex.EncodeToString(sum[:])
}
