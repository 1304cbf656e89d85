package referral

import (
	"crypto/md5"
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
	sum := md5.Sum([]byte(address))
	return hex.EncodeToString(sum[:])
}
