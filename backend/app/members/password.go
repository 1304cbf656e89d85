package members

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"kith/core"
)

// The parameters of argon2id: 19 MiB and two passes, as OWASP advises. A hash takes about
// 25 ms of one core.
const (
	hashMemory  = 19 * 1024 // KiB
	hashTime    = 2
	hashThreads = 1
	saltSize    = 16
	keySize     = 32
)

// hashWait is how long a sign-in waits until others have computed their hashes.
const hashWait = 10 * time.Second

// Passwords computes the hashes of passwords, at most one for each processor at a time, so
// that sign-ins use a bounded amount of memory.
type Passwords struct {
	slots   chan struct{}
	entropy func([]byte)
	// decoy is the hash of no password. It is verified for an address that no person has.
	decoy string
	// computed counts the hashes.
	computed atomic.Int64
}

// NewPasswords returns a Passwords that draws salts from entropy.
func NewPasswords(entropy func([]byte)) *Passwords {
	p := &Passwords{slots: make(chan struct{}, runtime.GOMAXPROCS(0)), entropy: entropy}
	p.decoy = encodeHash(make([]byte, saltSize), make([]byte, keySize))
	return p
}

// compute returns the argon2id hash of a password.
func (p *Passwords) compute(ctx context.Context, password string, salt []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, hashWait)
	defer cancel()
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "too many people are signing in at once; try again", Err: ctx.Err()}
	}
	defer func() { <-p.slots }()
	p.computed.Add(1)
	// The same characters may arrive in different forms from different systems.
	return argon2.IDKey(norm.NFKC.Bytes([]byte(password)), salt, hashTime, hashMemory, hashThreads, keySize), nil
}

// hash returns a password in the form in which it is stored.
func (p *Passwords) hash(ctx context.Context, password string) (string, error) {
	var salt [saltSize]byte
	p.entropy(salt[:])
	key, err := p.compute(ctx, password, salt[:])
	if err != nil {
		return "", err
	}
	return encodeHash(salt[:], key), nil
}

// verify reports whether a stored hash is that of a password. An empty hash is that of
// none, and takes as long.
func (p *Passwords) verify(ctx context.Context, stored, password string) (bool, error) {
	known := stored != ""
	if !known {
		stored = p.decoy
	}
	salt, want, err := decodeHash(stored)
	if err != nil {
		return false, err
	}
	got, err := p.compute(ctx, password, salt)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1 && known, nil
}

// hashPrefix begins each stored hash, in the form that other programs use too.
var hashPrefix = fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$", argon2.Version, hashMemory, hashTime, hashThreads)

func encodeHash(salt, key []byte) string {
	return hashPrefix + base64.RawStdEncoding.EncodeToString(salt) + "$" + base64.RawStdEncoding.EncodeToString(key)
}

func decodeHash(stored string) (salt, key []byte, err error) {
	rest, ok := strings.CutPrefix(stored, hashPrefix)
	first, second, both := strings.Cut(rest, "$")
	if !ok || !both {
		return nil, nil, fmt.Errorf("app: the hash of a password has other parameters than %s", hashPrefix)
	}
	if salt, err = base64.RawStdEncoding.DecodeString(first); err == nil {
		key, err = base64.RawStdEncoding.DecodeString(second)
	}
	if err != nil {
		err = fmt.Errorf("app: the hash of a password: %w", err)
	}
	return salt, key, err
}
