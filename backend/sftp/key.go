package sftp

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/crypto/ssh"

	"kith/backend/store/tenantdb"
	"kith/core"
)

// Bounds of an RSA key in bits: a shorter one is no longer safe, and a longer one
// only costs time.
const (
	minRSA = 2048
	maxRSA = 8192
)

// maxNote bounds what a key's owner calls it, in bytes.
const maxNote = 200

// ParseKey reads a public key as ssh-keygen writes it to a file that ends in
// .pub: RSA of 2048 to 8192 bits, or Ed25519 (reference, 3.5). Anything else is
// an error about "key".
func ParseKey(text []byte) (tenantdb.SFTPKey, error) {
	if bytes.Contains(text, []byte("PRIVATE KEY-----")) {
		return tenantdb.SFTPKey{}, core.Invalid("key", "is a private key, which nobody else should see: give the public one, in the file that ends in .pub")
	}
	key, note, _, rest, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return tenantdb.SFTPKey{}, core.Invalid("key", `is not a public key as ssh-keygen writes it, such as "ssh-ed25519 AAAA… name"`)
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return tenantdb.SFTPKey{}, core.Invalid("key", "must be one alone")
	}
	if err := acceptable(key); err != nil {
		return tenantdb.SFTPKey{}, err
	}
	return tenantdb.SFTPKey{Fingerprint: ssh.FingerprintSHA256(key), Type: key.Type(), Note: printable(note)}, nil
}

// acceptable refuses keys of other types and lengths.
func acceptable(key ssh.PublicKey) error {
	switch key.Type() {
	case ssh.KeyAlgoED25519:
		return nil
	case ssh.KeyAlgoRSA:
		crypto, ok := key.(ssh.CryptoPublicKey)
		if !ok {
			break
		}
		public, ok := crypto.CryptoPublicKey().(*rsa.PublicKey)
		if !ok {
			break
		}
		if bits := public.N.BitLen(); bits < minRSA || bits > maxRSA {
			return core.Invalid("key", "must have 2048 to 8192 bits, and has "+strconv.Itoa(bits))
		}
		return nil
	}
	return core.Invalid("key", "must be of RSA or Ed25519, and is of "+printable(key.Type()))
}

// printable is a text of somebody else's, fit for a terminal and a log.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, ""))
	if len(s) > maxNote {
		s = strings.ToValidUTF8(s[:maxNote], "")
	}
	return s
}

// NewKey makes an Ed25519 key pair: the private half as OpenSSH keeps it in a
// file, and the line of the public half.
func NewKey(note string) (private, public []byte, err error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	block, err := ssh.MarshalPrivateKey(key, note)
	if err != nil {
		return nil, nil, fmt.Errorf("sftp: new key: %w", err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("sftp: new key: %w", err)
	}
	public = append(bytes.TrimSpace(ssh.MarshalAuthorizedKey(signer.PublicKey())), " "+note+"\n"...)
	return pem.EncodeToMemory(block), public, nil
}

// HostKey reads the private key by which a server shows itself: one of
// ssh-keygen, without a passphrase.
func HostKey(text []byte) (ssh.Signer, error) {
	key, err := ssh.ParsePrivateKey(text)
	if err != nil {
		return nil, core.Invalid("sftp-host-key", "is not a private key of ssh-keygen without a passphrase: "+err.Error())
	}
	return key, nil
}

// KnownHost is the line of a known_hosts file that tells clients a server by its
// address.
func KnownHost(addr string, host ssh.Signer) string {
	name := addr
	if at := strings.LastIndexByte(addr, ':'); at >= 0 {
		name = "[" + strings.Trim(addr[:at], "[]") + "]" + addr[at:]
	}
	return name + " " + string(ssh.MarshalAuthorizedKey(host.PublicKey()))
}
