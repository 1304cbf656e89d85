package sftp_test

import (
	"io/fs"
	"testing"

	client "github.com/pkg/sftp"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"kith/backend/app/sshkey"
	"kith/core"
	"kith/core/job"
)

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
	parsed, err := sshkey.Parse(ssh.MarshalAuthorizedKey(ed25519Key(t).PublicKey()))
	require.NoError(t, err)
	_, err = d.SFTPKeys.Add(t.Context(), "acme", parsed)
	require.ErrorContains(t, err, "key: a tenant has at most 20")
	known, err := sshkey.Parse(ssh.MarshalAuthorizedKey(d.acme.PublicKey()))
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
