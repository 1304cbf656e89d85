package referral

import (
	"crypto/md5" // #nosec G501 -- see EmailHash
	"encoding/hex"
	"strings"
)

// EmailHash returns the MD5 of an address in hex, by which avatar services identify
// it (clients 1.2.18), or "" for an empty address. It does not protect the address,
// which can be guessed from the hash.
func EmailHash(email string) string {
	address := strings.ToLower(strings.TrimSpace(email))
	if address == "" {
		return ""
	}
	sum := md5.Sum([]byte(address)) // #nosec G401 -- clients expect MD5; the hash is not used for security
	return hex.EncodeToString(sum[:])
}
