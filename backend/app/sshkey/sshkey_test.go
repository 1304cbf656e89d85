package sshkey_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"kith/backend/app/sshkey"
)

func line(key ssh.Signer) []byte { return ssh.MarshalAuthorizedKey(key.PublicKey()) }

func signer(t *testing.T, key crypto.Signer) ssh.Signer {
	t.Helper()
	s, err := ssh.NewSignerFromSigner(key)
	require.NoError(t, err)
	return s
}

func newRSA(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	require.NoError(t, err)
	return key
}

func newEd25519(t *testing.T) ssh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return signer(t, key)
}

func newECDSA(t *testing.T) ssh.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return signer(t, key)
}

func TestParse(t *testing.T) {
	t.Parallel()
	rsa2048, ed := signer(t, newRSA(t, 2048)), newEd25519(t)
	for _, key := range []ssh.Signer{rsa2048, ed} {
		got, err := sshkey.Parse(append(bytes.TrimSpace(line(key)), " anna@shop, \x1b[2J laptop\n\n"...))
		require.NoError(t, err)
		require.Equal(t, ssh.FingerprintSHA256(key.PublicKey()), got.Fingerprint)
		require.Equal(t, key.PublicKey().Type(), got.Type)
		require.Equal(t, "anna@shop, [2J laptop", got.Note)
	}
	got, err := sshkey.Parse([]byte(`from="10.0.0.0/8",no-pty ` + string(line(ed))))
	require.NoError(t, err)
	require.Empty(t, got.Note)
	got, err = sshkey.Parse(append(bytes.TrimSpace(line(ed)), " "+strings.Repeat("é", 200)...))
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("é", 100), got.Note)

	short := newRSA(t, 1024)
	private, err := ssh.MarshalPrivateKey(short, "")
	require.NoError(t, err)
	for want, text := range map[string][]byte{
		"key: must have 2048 to 8192 bits, not 1024":                                 line(signer(t, short)),
		"key: must be an RSA or Ed25519 key, not ecdsa-sha2-nistp256":                line(newECDSA(t)),
		"key: is a private key, which must stay secret":                              pem.EncodeToMemory(private),
		"key: has several keys; give one at a time":                                  append(line(ed), line(rsa2048)...),
		"key: is not a public key; give one as ssh-keygen writes it, such as":        []byte("ssh-ed25519 AAAA"),
		`key: is not a public key; give one as ssh-keygen writes it, such as "ssh-e`: nil,
	} {
		_, err := sshkey.Parse(text)
		require.ErrorContains(t, err, want)
	}
}

func TestParseHost_ReadsNewKey(t *testing.T) {
	t.Parallel()
	private, public, err := sshkey.New("kith")
	require.NoError(t, err)
	host, err := sshkey.ParseHost("host", private)
	require.NoError(t, err)
	require.Equal(t, string(public), strings.TrimSpace(string(line(host)))+" kith\n")
	require.Equal(t, "[127.0.0.1]:2022 "+string(line(host)), sshkey.KnownHost("127.0.0.1:2022", host))
	require.Equal(t, "[::1]:2022 "+string(line(host)), sshkey.KnownHost("[::1]:2022", host))
	_, err = sshkey.ParseHost("/data/host", []byte("x"))
	require.ErrorContains(t, err, "sftp-host-key: /data/host is not a private key; make one with ssh-keygen, without a passphrase")
}
