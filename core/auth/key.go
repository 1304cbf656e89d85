package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"kith/core"
)

// KeyHash returns the hash by which an API key is stored and looked up: SHA-256 in
// hex.
func KeyHash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Credentials are the unverified credentials of a request. At most one field is set.
// The zero value is an anonymous request.
type Credentials struct {
	// Key is an API key, not yet compared with the tenant's.
	Key string
	// Token is a user JWT, not yet verified.
	Token string
}

// ParseCredentials reads the Authorization header and the
// X-SaaSquatch-User-Token header, either of which may be empty.
//
// An API key is sent as Basic in one of these forms (clients 2.1.1): ":KEY", "KEY:",
// "KEY:KEY" and "ID:KEY", where ID is any text. The key is the password, or the user
// if the password is empty. A user token is sent as Bearer or in its own header; what is
// sent as Bearer and has no dot cannot be a JWT, and is an API key.
// "Bearer" followed by nothing, "undefined" or "null" is anonymous (clients 2.2.3).
func ParseCredentials(authorization, userToken string) (Credentials, error) {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(authorization), " ")
	rest = strings.TrimSpace(rest)
	switch {
	case strings.EqualFold(scheme, "Basic"):
		key, err := basicKey(rest)
		return Credentials{Key: key}, err
	case strings.EqualFold(scheme, "Bearer") && !absent(rest):
		if strings.IndexByte(rest, '.') < 0 {
			return Credentials{Key: rest}, nil
		}
		return Credentials{Token: rest}, nil
	case scheme != "" && !strings.EqualFold(scheme, "Bearer"):
		return Credentials{}, unauthenticated("Authorization", "use Basic with the API key, or Bearer with a user token")
	case !absent(userToken):
		return Credentials{Token: strings.TrimSpace(userToken)}, nil
	}
	return Credentials{}, nil
}

func basicKey(encoded string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	user, password, found := strings.Cut(string(raw), ":")
	if err != nil || !found {
		return "", unauthenticated("Authorization", "Basic credentials must be base64 of user:password")
	}
	key := password
	if key == "" {
		key = user
	}
	// A Basic header without a key is an error, not an anonymous request.
	if key == "" {
		return "", unauthenticated("Authorization", "give the API key as password, or as user with an empty password")
	}
	return key, nil
}

func absent(token string) bool {
	token = strings.TrimSpace(token)
	return token == "" || token == "undefined" || token == "null"
}

// NoCredentials returns the error for a call that needs credentials and has none
// (RS045).
func NoCredentials() *core.Error {
	err := unauthenticated("", "this call needs credentials; send the tenant's API key (Basic) or a valid user token (Bearer)")
	err.RS = "RS045"
	return err
}

// WrongKey returns the error for an API key that the tenant does not have. other is
// the tenant of the other mode, live or test, if the key belongs to it, else empty.
func WrongKey(tenant, other core.TenantAlias) *core.Error {
	if other == "" {
		return unauthenticated("Authorization", "is not an API key of this tenant, or was revoked; send one that it has")
	}
	return unauthenticated("Authorization", "is an API key of "+string(other)+"; call that tenant, or send a key of "+string(tenant))
}

func unauthenticated(field, message string) *core.Error {
	return &core.Error{Code: core.CodeUnauthenticated, Field: field, Message: message}
}
