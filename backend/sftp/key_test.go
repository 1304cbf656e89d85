package sftp_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"io/fs"
	"strings"
	"testing"

	client "github.com/pkg/sftp"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"kith/backend/sftp"
	"kith/core"
	"kith/core/job"
)

func line(key ssh.Signer) []byte { return ssh.MarshalAuthorizedKey(key.PublicKey()) }

func TestParseKey(t *testing.T) {
	t.Parallel()
	rsa2048, ed := rsaKey(t, 2048), ed25519Key(t)
	for _, key := range []ssh.Signer{rsa2048, ed} {
		got, err := sftp.ParseKey(append(bytes.TrimSpace(line(key)), " anna@shop, \x1b[2J laptop\n\n"...))
		require.NoError(t, err)
		require.Equal(t, ssh.FingerprintSHA256(key.PublicKey()), got.Fingerprint)
		require.Equal(t, key.PublicKey().Type(), got.Type)
		require.Equal(t, "anna@shop, [2J laptop", got.Note)
	}
	got, err := sftp.ParseKey([]byte(`from="10.0.0.0/8",no-pty ` + string(line(ed))))
	require.NoError(t, err)
	require.Empty(t, got.Note)
	got, err = sftp.ParseKey(append(bytes.TrimSpace(line(ed)), " "+strings.Repeat("é", 200)...))
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("é", 100), got.Note)

	short, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	private, err := ssh.MarshalPrivateKey(short, "")
	require.NoError(t, err)
	for want, text := range map[string][]byte{
		"key: must have 2048 to 8192 bits, not 1024":                                 line(signer(t, short)),
		"key: must be an RSA or Ed25519 key, not ecdsa-sha2-nistp256":                line(ecdsaKey(t)),
		"key: is a private key, which must stay secret":                              pem.EncodeToMemory(private),
		"key: has several keys; give one at a time":                                  append(line(ed), line(rsa2048)...),
		"key: is not a public key; give one as ssh-keygen writes it, such as":        []byte("ssh-ed25519 AAAA"),
		`key: is not a public key; give one as ssh-keygen writes it, such as "ssh-e`: nil,
	} {
		_, err := sftp.ParseKey(text)
		require.ErrorContains(t, err, want)
	}
}

func TestHostKey_ReadsKeyOfNewKey(t *testing.T) {
	t.Parallel()
	private, public, err := sftp.NewKey("kith")
	require.NoError(t, err)
	host, err := sftp.HostKey(private)
	require.NoError(t, err)
	require.Equal(t, string(public), strings.TrimSpace(string(line(host)))+" kith\n")
	require.Equal(t, "[127.0.0.1]:2022 "+string(line(host)), sftp.KnownHost("127.0.0.1:2022", host))
	require.Equal(t, "[::1]:2022 "+string(line(host)), sftp.KnownHost("[::1]:2022", host))
	_, err = sftp.HostKey([]byte("x"))
	require.ErrorContains(t, err, "sftp-host-key: is not a private key; make one with ssh-keygen, without a passphrase")
}

// Keys of both types are accepted, also when a client offers others first, and two
// tenants may have the same key.
func TestLogin_Keys(t *testing.T) {
	t.Parallel()
	d := open(t)
	key := rsaKey(t, 2048)
	d.allow(t, "acme", key)
	for user, keys := range map[string][]ssh.Signer{
		"acme":  {ecdsaKey(t), ed25519Key(t), d.other, key},
		"other": {key, d.other},
	} {
		conn, err := d.dial(user, ssh.PublicKeys(keys...))
		require.NoError(t, err, user)
		s, err := client.NewClient(conn)
		require.NoError(t, err)
		f, err := s.Create("users_1.csv")
		require.NoError(t, err)
		_, err = f.Write([]byte(users(1)))
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.NoError(t, conn.Close())
		require.Equal(t, job.Completed, d.done(t, core.TenantAlias(user)).Status)
		require.Len(t, d.jobs(t, core.TenantAlias(user)), 1, "the file belongs to the tenant that the client authenticated as")
	}
	d.allow(t, "other", d.acme)
	require.NoError(t, d.connect(t, "other", d.acme).send(t, "users_2.csv", users(2)))
	keys, err := d.SFTPKeys.List(t.Context(), "acme")
	require.NoError(t, err)
	for _, k := range keys {
		require.Equal(t, k.Fingerprint == ssh.FingerprintSHA256(key.PublicKey()), k.Used != 0, "only the key that authenticated has a time of use")
	}
}

// Every client without a key of the tenant gets the same error, whatever the reason.
func TestLogin_Refused(t *testing.T) {
	t.Parallel()
	d := open(t)
	for what, c := range map[string]struct {
		user    string
		methods []ssh.AuthMethod
	}{
		"another tenant's key": {"acme", []ssh.AuthMethod{ssh.PublicKeys(d.other)}},
		"unknown key":          {"acme", []ssh.AuthMethod{ssh.PublicKeys(ed25519Key(t))}},
		"no such tenant":       {"missing", []ssh.AuthMethod{ssh.PublicKeys(d.acme)}},
		"another case":         {"ACME", []ssh.AuthMethod{ssh.PublicKeys(d.acme)}},
		"no alias":             {"acme'; --", []ssh.AuthMethod{ssh.PublicKeys(d.acme)}},
		"no user":              {"", []ssh.AuthMethod{ssh.PublicKeys(d.acme)}},
		"another type of key":  {"acme", []ssh.AuthMethod{ssh.PublicKeys(ecdsaKey(t))}},
	} {
		_, err := d.dial(c.user, c.methods...)
		require.ErrorContains(t, err, "ssh: unable to authenticate, attempted methods [none publickey], no supported methods remain", what)
	}
	_, err := d.dial("acme")
	require.ErrorContains(t, err, "attempted methods [none]")
	_, err = d.dial("acme", ssh.Password("x"), ssh.KeyboardInteractive(func(string, string, []string, []bool) ([]string, error) { return nil, nil }))
	require.ErrorContains(t, err, "attempted methods [none], no supported methods remain", "neither is offered")
	require.Empty(t, d.jobs(t, "acme"))
}

// A signature of RSA with SHA-1 is refused.
func TestLogin_OldSignature(t *testing.T) {
	t.Parallel()
	d := open(t)
	key := rsaKey(t, 2048)
	d.allow(t, "acme", key)
	for algorithm, accepted := range map[string]bool{ssh.KeyAlgoRSA: false, ssh.KeyAlgoRSASHA256: true, ssh.KeyAlgoRSASHA512: true} {
		limited, err := ssh.NewSignerWithAlgorithms(key.(ssh.AlgorithmSigner), []string{algorithm})
		require.NoError(t, err)
		conn, err := d.dial("acme", ssh.PublicKeys(limited))
		require.Equal(t, accepted, err == nil, "%s: %v", algorithm, err)
		if conn != nil {
			require.NoError(t, conn.Close())
		}
	}
}

// A removed key is refused, also on a connection that it opened before.
func TestLogin_KeyIsRemoved(t *testing.T) {
	t.Parallel()
	d := open(t)
	s := d.connect(t, "acme", d.acme)
	require.NoError(t, s.send(t, "users_1.csv", users(1)))
	fingerprint := ssh.FingerprintSHA256(d.acme.PublicKey())
	require.ErrorContains(t, d.SFTPKeys.Remove(t.Context(), "other", fingerprint), "the tenant has no key with this fingerprint")
	require.NoError(t, d.SFTPKeys.Remove(t.Context(), "acme", fingerprint))
	_, err := s.Create("users_2.csv")
	require.ErrorIs(t, err, fs.ErrPermission)
	s.awaitStderr(t, "the key has been removed")
	_, err = d.dial("acme", ssh.PublicKeys(d.acme))
	require.Error(t, err)
}

func TestKeys_OfATenantAreBounded(t *testing.T) {
	t.Parallel()
	d := open(t)
	for range 19 {
		d.allow(t, "acme", ed25519Key(t))
	}
	parsed, err := sftp.ParseKey(line(ed25519Key(t)))
	require.NoError(t, err)
	_, err = d.SFTPKeys.Add(t.Context(), "acme", parsed)
	require.ErrorContains(t, err, "key: a tenant has at most 20")
	known, err := sftp.ParseKey(line(d.acme))
	require.NoError(t, err)
	added, err := d.SFTPKeys.Add(t.Context(), "acme", known)
	require.NoError(t, err)
	require.False(t, added)
	_, err = d.SFTPKeys.Add(t.Context(), "nobody", known)
	require.Equal(t, core.UnknownTenant(), err)
	keys, err := d.SFTPKeys.List(t.Context(), "acme")
	require.NoError(t, err)
	require.Len(t, keys, 20)
}
