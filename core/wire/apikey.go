package wire

import (
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/auth"
)

// DefaultOverlap is how long a replaced secret stays valid if a rotation does not set
// it.
const DefaultOverlap = core.Day

// NewKey is a request to create an API key.
type NewKey struct {
	Name string
	Role auth.Role
	// Expires is the first time at which the key is invalid; zero means never.
	Expires core.Time
}

// ParseNewKey parses the body of POST /keys: name, role and, optionally, dateExpires.
func ParseNewKey(body []byte) (NewKey, error) {
	var name, role *string
	var expires *int64
	err := object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "name":
			return r.text(&name, key, v)
		case "role":
			return r.text(&role, key, v)
		case "dateExpires":
			return r.integer(&expires, key, v, 1)
		}
		return false
	})
	if err != nil {
		return NewKey{}, err
	}
	var in NewKey
	if in.Name, err = auth.ParseKeyName("name", textOf(name)); err != nil {
		return NewKey{}, err
	}
	if in.Role, err = auth.ParseRole("role", textOf(role)); err != nil {
		return NewKey{}, err
	}
	if expires != nil {
		in.Expires = core.Time(*expires)
	}
	return in, nil
}

// ParseOverlap parses the body of POST /keys/{name}/rotate: overlap, an ISO 8601
// duration, with the default DefaultOverlap.
func ParseOverlap(body []byte) (core.Time, error) {
	var overlap *string
	err := object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		return key == "overlap" && r.text(&overlap, key, v)
	})
	if err != nil || overlap == nil {
		return DefaultOverlap, err
	}
	return core.ParseDuration("overlap", *overlap)
}

// APIKeys returns a tenant's keys as JSON, without their secrets.
func APIKeys(keys auth.APIKeys) []byte {
	w := writer{}
	w.open()
	w.number("count", int64(len(keys)))
	w.key("keys")
	w.b = list(w.b, len(keys), func(b []byte, i int) []byte { return appendAPIKey(b, keys[i], "") })
	w.close()
	return w.b
}

// NewAPIKey returns a new or rotated key as JSON, with its secret.
func NewAPIKey(k auth.APIKey, secret string) []byte { return appendAPIKey(nil, k, secret) }

func appendAPIKey(b []byte, k auth.APIKey, secret string) []byte {
	w := writer{b: b}
	w.open()
	w.text("name", k.Name)
	w.text("role", string(k.Role))
	w.text("id", k.ID())
	if secret != "" {
		w.text("secret", secret)
	}
	w.date("dateCreated", k.Created)
	w.date("dateReplaced", k.Replaced)
	w.date("dateExpires", k.Expires)
	w.date("dateLastUsed", k.Used)
	w.close()
	return w.b
}
