// Package sshkey reads and makes the keys of SFTP: the public keys of clients, and the host
// key of the server.
package sshkey

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

// Bounds of an RSA key in bits: a shorter one is not safe any more, and a longer one
// only costs time.
const (
	minRSA = 2048
	maxRSA = 8192
)

// maxNote bounds the comment of a key, in bytes.
const maxNote = 200

// Parse parses a public key in the form that ssh-keygen writes to a .pub file: RSA
// of 2048 to 8192 bits, or Ed25519 (clients 3.5.1). Its errors are about the field
// "key".
func Parse(text []byte) (tenantdb.SFTPKey, error) {
	if bytes.Contains(text, []byte("PRIVATE KEY-----")) {
		return tenantdb.SFTPKey{}, core.Invalid("key", "is a private key, which must stay secret; give the public key, from the file that ends in .pub")
	}
	key, note, _, rest, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return tenantdb.SFTPKey{}, core.Invalid("key", `is not a public key; give one as ssh-keygen writes it, such as "ssh-ed25519 AAAA… name"`)
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return tenantdb.SFTPKey{}, core.Invalid("key", "has several keys; give one at a time")
	}
	if err := Check(key); err != nil {
		return tenantdb.SFTPKey{}, err
	}
	return tenantdb.SFTPKey{Fingerprint: ssh.FingerprintSHA256(key), Type: key.Type(), Note: Printable(note)}, nil
}

// Check returns an error about the field "key" for a key of another type or length.
func Check(key ssh.PublicKey) error {
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
			return core.Invalid("key", "must have 2048 to 8192 bits, not "+strconv.Itoa(bits))
		}
		return nil
	}
	return core.Invalid("key", "must be an RSA or Ed25519 key, not "+Printable(key.Type()))
}

// Printable makes an untrusted text safe for a terminal and a log.
func Printable(s string) string {
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

// New makes an Ed25519 key pair: the private key in the file format of OpenSSH, and
// the public key as one line.
func New(note string) (private, public []byte, err error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	block, err := ssh.MarshalPrivateKey(key, note)
	if err != nil {
		return nil, nil, fmt.Errorf("sshkey: new key: %w", err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("sshkey: new key: %w", err)
	}
	public = append(bytes.TrimSpace(ssh.MarshalAuthorizedKey(signer.PublicKey())), " "+note+"\n"...)
	return pem.EncodeToMemory(block), public, nil
}

// ParseHost parses the private key by which clients recognize the server: one made by
// ssh-keygen, without a passphrase. path is that of its file, for the error.
func ParseHost(path string, text []byte) (ssh.Signer, error) {
	key, err := ssh.ParsePrivateKey(text)
	if err != nil {
		return nil, core.Invalid("sftp-host-key", path+" is not a private key; make one with ssh-keygen, without a passphrase: "+err.Error())
	}
	return key, nil
}

// KnownHost returns the line of a known_hosts file by which clients recognize the
// server at an address.
func KnownHost(addr string, host ssh.Signer) string {
	name := addr
	if at := strings.LastIndexByte(addr, ':'); at >= 0 {
		name = "[" + strings.Trim(addr[:at], "[]") + "]" + addr[at:]
	}
	return name + " " + string(ssh.MarshalAuthorizedKey(host.PublicKey()))
}
