package kith

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// SignUserToken returns a user token: a JWT with which a browser makes calls about the
// user. key is an API key of the role tokens or all. user needs "accountId" and "id"; its
// other keys are values that count only if they are signed, such as "accountStatus". The
// token is valid for the given time; choose a short one, such as an hour.
func SignUserToken(key string, user map[string]any, valid time.Duration) (string, error) {
	for _, name := range []string{"accountId", "id"} {
		if id, _ := user[name].(string); id == "" {
			return "", fmt.Errorf("kith: user: has no %s; give it as a string", name)
		}
	}
	return signClaims(key, map[string]any{"user": user}, valid)
}

// SignAnonymousToken returns a token for visitors without ids, with which a browser calls
// upsertCookieUser.
func SignAnonymousToken(key string, valid time.Duration) (string, error) {
	return signClaims(key, map[string]any{"allowAnonymous": true}, valid)
}

func signClaims(key string, claims map[string]any, valid time.Duration) (string, error) {
	switch {
	case key == "":
		return "", errors.New("kith: key: empty; give an API key of the role tokens")
	case valid < time.Second:
		return "", errors.New("kith: valid: less than 1 s; give a time such as an hour")
	}
	claims["exp"] = time.Now().Add(valid).Unix()
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("kith: user: %w", err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode(payload)
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(signed))
	return signed + "." + encode(mac.Sum(nil)), nil
}
