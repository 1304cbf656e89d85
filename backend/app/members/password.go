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

	"kith/backend/guess"
	"kith/backend/store/peopledb"
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

// At most hashQueue sign-ins wait until others have computed their hashes, of them at most
// hashShare of one network, and none longer than hashWait.
const (
	hashQueue = 64
	hashShare = 8
	hashWait  = 5 * time.Second
)

// Passwords computes the hashes of passwords on at most half of the processors, so that
// sign-ins neither stop share links nor use an unbounded amount of memory.
type Passwords struct {
	slots   *guess.Slots
	wait    time.Duration
	entropy func([]byte)
	// memory is hashMemory.
	memory uint32
	// computed counts the hashes.
	computed atomic.Int64
}

// NewPasswords returns a Passwords that draws salts from entropy.
func NewPasswords(entropy func([]byte)) *Passwords {
	return &Passwords{slots: guess.NewSlots(max(1, runtime.GOMAXPROCS(0)/2), hashQueue, hashShare), wait: hashWait, entropy: entropy, memory: hashMemory}
}

// compute returns the argon2id hash of a password.
func (p *Passwords) compute(ctx context.Context, v Visitor, password string, salt []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, p.wait)
	defer cancel()
	leave, err := p.slots.Enter(ctx, v.Address)
	if err != nil {
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "too many people are signing in at once; try again", Err: err}
	}
	defer leave()
	p.computed.Add(1)
	// The same characters may arrive in different forms from different systems.
	return argon2.IDKey(norm.NFKC.Bytes([]byte(password)), salt, hashTime, p.memory, hashThreads, keySize), nil
}

// hash returns a password in the form in which it is stored. All people with one address
// share a salt, so that a sign-in takes as long for several as for one: same are the others
// with the address of the person.
func (p *Passwords) hash(ctx context.Context, v Visitor, password string, same []peopledb.Person) (string, error) {
	salt := make([]byte, saltSize)
	p.entropy(salt)
	for _, other := range same {
		if other.Password != "" {
			var err error
			if salt, _, err = p.decode(other.Password); err != nil {
				return "", err
			}
		}
	}
	key, err := p.compute(ctx, v, password, salt)
	if err != nil {
		return "", err
	}
	return p.prefix() + base64.RawStdEncoding.EncodeToString(salt) + "$" + base64.RawStdEncoding.EncodeToString(key), nil
}

// find returns the first of the people with an address who has a password; ok is false if
// there is none. It takes as long for none.
func (p *Passwords) find(ctx context.Context, v Visitor, password string, same ...peopledb.Person) (found peopledb.Person, ok bool, err error) {
	keys := map[string][]byte{} // by salt
	for _, one := range same {
		if one.Password == "" {
			continue
		}
		salt, want, err := p.decode(one.Password)
		if err != nil {
			return found, false, err
		}
		key, known := keys[string(salt)]
		if !known {
			if key, err = p.compute(ctx, v, password, salt); err != nil {
				return found, false, err
			}
			keys[string(salt)] = key
		}
		if subtle.ConstantTimeCompare(key, want) == 1 && !ok {
			found, ok = one, true
		}
	}
	if len(keys) == 0 {
		_, err = p.compute(ctx, v, password, make([]byte, saltSize))
	}
	return found, ok, err
}

// prefix begins each stored hash, in the form that other programs use too.
func (p *Passwords) prefix() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$", argon2.Version, p.memory, hashTime, hashThreads)
}

func (p *Passwords) decode(stored string) (salt, key []byte, err error) {
	rest, ok := strings.CutPrefix(stored, p.prefix())
	first, second, both := strings.Cut(rest, "$")
	if !ok || !both {
		return nil, nil, fmt.Errorf("app: the hash of a password has other parameters than %s", p.prefix())
	}
	if salt, err = base64.RawStdEncoding.DecodeString(first); err == nil {
		key, err = base64.RawStdEncoding.DecodeString(second)
	}
	if err != nil {
		err = fmt.Errorf("app: the hash of a password: %w", err)
	}
	return salt, key, err
}
