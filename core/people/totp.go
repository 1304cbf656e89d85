package people

import (
	"crypto/hmac"
	"crypto/sha1" // #nosec G505 -- RFC 6238 and all authenticator apps use HMAC-SHA-1
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"net/url"
	"strings"

	"kith/core"
)

const (
	// totpStep is how long a one-time code lives (RFC 6238, 5.2).
	totpStep = 30 * core.Second
	// totpDigits is the length of a code.
	totpDigits = 6
	// totpSkew is how many codes before and after the current one are accepted, since
	// clocks of phones differ.
	totpSkew = 1
	// SecretSize is the size of a secret in bytes, that of an SHA-1 hash (RFC 4226, 4).
	SecretSize = 20
)

// TOTP is the secret of a person's authenticator app.
type TOTP [SecretSize]byte

// Code returns the one-time code of a step (RFC 4226, 5.3).
func (secret TOTP) Code(step int64) string {
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], uint64(step)) // #nosec G115 -- steps are positive
	mac := hmac.New(sha1.New, secret[:])
	_, _ = mac.Write(counter[:])
	sum := mac.Sum(nil)
	number := binary.BigEndian.Uint32(sum[sum[19]&15:]) & 0x7fffffff
	var code [totpDigits]byte
	for i := totpDigits - 1; i >= 0; i-- {
		code[i] = byte('0' + number%10)
		number /= 10
	}
	return string(code[:])
}

// Verify returns the step of a code that is valid now. It compares all candidates, so that
// its duration does not depend on which of them matches. A code is valid once: its step
// must be later than last, that of the code that was used before.
func (secret TOTP) Verify(code string, now core.Time, last int64) (step int64, ok bool) {
	code = strings.ReplaceAll(code, " ", "")
	current := int64(now / totpStep)
	for s := current - totpSkew; s <= current+totpSkew; s++ {
		if subtle.ConstantTimeCompare([]byte(secret.Code(s)), []byte(code)) == 1 && s > last {
			step, ok = s, true
		}
	}
	return step, ok
}

var totpText = base32.StdEncoding.WithPadding(base32.NoPadding)

// String returns a secret as people type it into an app.
func (secret TOTP) String() string { return totpText.EncodeToString(secret[:]) }

// ParseTOTP returns the secret that String wrote.
func ParseTOTP(s string) (secret TOTP, ok bool) {
	raw, err := totpText.DecodeString(s)
	if err != nil || len(raw) != SecretSize {
		return secret, false
	}
	copy(secret[:], raw)
	return secret, true
}

// URI returns what the QR code for an app has. issuer names the service.
func (secret TOTP) URI(issuer, email string) string {
	return "otpauth://totp/" + url.PathEscape(issuer+":"+email) + "?secret=" + secret.String() + "&issuer=" + url.QueryEscape(issuer)
}

const (
	// RecoveryCodes is how many recovery codes a person gets.
	RecoveryCodes = 10
	// RecoverySize is the number of random bytes of a recovery code. Each gives 5 bits, 80
	// in all: a hash of such a code cannot be searched.
	RecoverySize = 16
	// recoveryAlphabet has no characters that people confuse.
	recoveryAlphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
)

// RecoveryCode returns a code that replaces a one-time code once, such as
// "ABCD-EFGH-JKLM-NPQR".
func RecoveryCode(entropy [RecoverySize]byte) string {
	var b strings.Builder
	for i, raw := range entropy {
		if i > 0 && i%4 == 0 {
			b.WriteByte('-')
		}
		b.WriteByte(recoveryAlphabet[raw&31])
	}
	return b.String()
}

// PlainRecoveryCode returns a recovery code as it is compared, or "" if the text has not
// the form of one. Case, spaces and dashes do not matter.
func PlainRecoveryCode(s string) string {
	plain := strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' {
			return -1
		}
		return r
	}, strings.ToUpper(s))
	if len(plain) != RecoverySize || strings.Trim(plain, recoveryAlphabet) != "" {
		return ""
	}
	return plain
}
