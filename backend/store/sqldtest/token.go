package sqldtest

import (
	"crypto/ed25519"
	"encoding/base64"
	"os"
	"path/filepath"
)

// tokens signs the tokens that the nodes of a cluster require.
type tokens struct {
	key ed25519.PrivateKey
	// keyFile is the path of the public key, in the form that the server reads.
	keyFile string
}

func newTokens(dir string) (*tokens, error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	t := &tokens{key: private, keyFile: filepath.Join(dir, "jwt_key")}
	return t, os.WriteFile(t.keyFile, []byte(base64.RawURLEncoding.EncodeToString(public)), 0o600)
}

func (t *tokens) sign(claims string) string {
	b64 := base64.RawURLEncoding.EncodeToString
	signed := b64([]byte(`{"alg":"EdDSA","typ":"JWT"}`)) + "." + b64([]byte(claims))
	return signed + "." + b64(ed25519.Sign(t.key, []byte(signed)))
}

// Token returns a token that may read and write, or "" if the cluster requires none.
func (c *Cluster) Token() string {
	if c.tokens == nil {
		return ""
	}
	return c.tokens.sign(`{"a":"rw"}`)
}

// ReadToken returns a token that may only read, or "" if the cluster requires none.
func (c *Cluster) ReadToken() string {
	if c.tokens == nil {
		return ""
	}
	return c.tokens.sign(`{"a":"ro"}`)
}
