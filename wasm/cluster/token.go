package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// makeToken sets the token that the servers require, and returns the file with the public
// key by which they verify it. The key pair is kept for the next start.
func (c *cluster) makeToken() (keyFile string, err error) {
	seed, err := c.seed()
	if err != nil {
		return "", err
	}
	key := ed25519.NewKeyFromSeed(seed)
	b64 := base64.RawURLEncoding.EncodeToString
	signed := b64([]byte(`{"alg":"EdDSA","typ":"JWT"}`)) + "." + b64([]byte(`{"a":"rw"}`))
	c.token = signed + "." + b64(ed25519.Sign(key, []byte(signed)))
	keyFile = filepath.Join(c.data, "database.pub")
	return keyFile, os.WriteFile(keyFile, []byte(b64(key.Public().(ed25519.PublicKey))), 0o600)
}

func (c *cluster) seed() ([]byte, error) {
	path := filepath.Join(c.data, "database.key")
	seed, err := os.ReadFile(path)
	if err == nil && len(seed) == ed25519.SeedSize {
		return seed, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	return key.Seed(), os.WriteFile(path, key.Seed(), 0o600)
}
