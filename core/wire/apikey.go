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
	var in NewKey
	var role string
	err := object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "name":
			return take(r.text, &in.Name, key, v)
		case "role":
			return take(r.text, &role, key, v)
		case "dateExpires":
			return r.date(&in.Expires, key, v, 1)
		}
		return false
	})
	if err != nil {
		return NewKey{}, err
	}
	if in.Name, err = auth.ParseKeyName("name", in.Name); err != nil {
		return NewKey{}, err
	}
	if in.Role, err = auth.ParseRole("role", role); err != nil {
		return NewKey{}, err
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

// SFTPKey is a public key with which a client may send files by SFTP.
type SFTPKey struct {
	// Fingerprint is the SHA-256 of the key as OpenSSH shows it.
	Fingerprint, Type, Note string
	// Created is when the key was added, and Used when a client last connected with it; zero
	// is never.
	Created, Used core.Time
}

// SFTPServer is the SFTP server that the keys are for.
type SFTPServer struct {
	// Addr is host:port, and HostKey the fingerprint of the server's key.
	Addr, HostKey string
}

// ParseSFTPKey parses the body that adds an SFTP key: {key}, the key as ssh-keygen writes
// it.
func ParseSFTPKey(body []byte) (key string, err error) {
	err = object(body, MaxBody, "", func(r *reader, name string, v *fastjson.Value) bool {
		return name == "key" && take(r.text, &key, name, v)
	})
	if err == nil && key == "" {
		err = core.Invalid("key", `is required; give a public key as ssh-keygen writes it, such as "ssh-ed25519 AAAA… name"`)
	}
	return key, err
}

// SFTPKeys returns the SFTP keys of a tenant as JSON. server is the SFTP server of the
// backend that answers, or nil.
func SFTPKeys(keys []SFTPKey, server *SFTPServer) []byte {
	w := begin(nil)
	w.number("count", int64(len(keys)))
	w.list("keys", len(keys), func(b []byte, i int) []byte { return appendSFTPKey(b, keys[i]) })
	w.objectOrNull("server", server != nil, func() {
		w.text("address", server.Addr)
		w.text("hostKey", server.HostKey)
	})
	return w.end()
}

// NewSFTPKey returns an SFTP key that was just added as JSON.
func NewSFTPKey(k SFTPKey) []byte { return appendSFTPKey(nil, k) }

func appendSFTPKey(b []byte, k SFTPKey) []byte {
	w := begin(b)
	w.text("fingerprint", k.Fingerprint)
	w.text("type", k.Type)
	w.textOrNull("note", k.Note)
	w.date("dateCreated", k.Created)
	w.date("dateLastUsed", k.Used)
	return w.end()
}

// APIKeys returns a tenant's keys as JSON, without their secrets.
func APIKeys(keys auth.APIKeys) []byte {
	w := begin(nil)
	w.number("count", int64(len(keys)))
	w.list("keys", len(keys), func(b []byte, i int) []byte { return appendAPIKey(b, keys[i], "") })
	return w.end()
}

// NewAPIKey returns a new or rotated key as JSON, with its secret.
func NewAPIKey(k auth.APIKey, secret string) []byte { return appendAPIKey(nil, k, secret) }

func appendAPIKey(b []byte, k auth.APIKey, secret string) []byte {
	w := begin(b)
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
	return w.end()
}
