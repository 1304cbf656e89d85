package main

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kith/backend/store"
)

// aboutATenant are commands about an existing tenant, acme.
var aboutATenant = []string{
	"tenant show acme", "tenant set acme --discount-id x", "tenant erase acme --yes", "tenant export acme FILE", "tenant origin list acme",
	"tenant sftp-key list acme", "user export --tenant acme --account anna --user anna FILE", "token --tenant acme --account anna --user anna", "program list --tenant acme", "program try --tenant acme --event purchase classic", "program orders --tenant acme anna", "widget list --tenant acme",
	"person list acme", "person invite acme ann@acme.example", "person reset-password ann@acme.example", "webhook list --tenant acme", "webhook rotate-key", "gateway show --tenant acme", "backup FILE",
}

// tryAll runs commands that must fail with the same error.
func tryAll(t *testing.T, says string, commands []string, flags ...string) {
	t.Helper()
	for _, command := range commands {
		command = strings.ReplaceAll(command, "FILE", filepath.Join(t.TempDir(), "file"))
		var out, errOut strings.Builder
		status := run(append(strings.Fields(command), flags...), &out, &errOut)
		require.Equal(t, 1, status, "%s: %s%s", command, out.String(), errOut.String())
		require.Contains(t, errOut.String(), says, command)
		require.Empty(t, out.String(), command)
	}
}

// No command writes to a database with a wrong master key.
func TestMasterKey_WrongKeyIsRefused(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	url := "file:" + filepath.Join(data, "kith.db")
	create := []string{"tenant", "create", "acme", "--landing-url", "https://acme.example/", "--data", data}
	requireKith(t, create...)
	other := []string{"--data", data, "--master-key", strings.Repeat("11", 32)}
	commands := append([]string{"serve", "dev", "sftp", "tenant create other --landing-url https://x.example/"}, aboutATenant...)
	for _, name := range []string{"by its fingerprint", "by a secret"} {
		before := dumped(t, url, "")
		tryAll(t, "master-key: (set) does not belong to this database", commands, other...)
		require.Equal(t, before, dumped(t, url, ""), name)
		replica, err := store.OpenReplica(url, "")
		require.NoError(t, err)
		edge := replicas{checkKey: (&databaseFlags{MasterKey: strings.Repeat("11", 32)}).checkKey}
		require.ErrorContains(t, edge.check(t.Context(), replica), "does not belong to this database")
		require.NoError(t, replica.Close())
		execSQL(t, url, `UPDATE master_key SET fingerprint = ''`)
	}
	requireKith(t, "tenant", "show", "acme", "--data", data)
	require.Equal(t, "1", textSQL(t, url, `SELECT count(*) FROM master_key WHERE fingerprint <> ''`))

	// A missing key is not replaced by a new one.
	tryAll(t, "master-key: is not in "+filepath.Join(data, "master.key"), []string{"serve", "tenant show acme", "token --tenant acme --account anna --user anna"}, "--data", data)
	require.NoFileExists(t, filepath.Join(data, "master.key"))
}

// A mistyped folder is an error, not an empty database.
func TestDatabase_IsNotCreatedByTenantCommands(t *testing.T) {
	t.Parallel()
	typo := filepath.Join(t.TempDir(), "typo")
	tryAll(t, "there is no database: --data (KITH_DATA) or --database-url", aboutATenant, "--data", typo)
	require.NoDirExists(t, typo)
}

// An edge does not create a database: with a mistyped folder or file it fails, after it
// has waited for its backend to create one. The clock of the synctest bubble makes the
// wait take no time.
func TestDatabase_IsNotCreatedByAnEdge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		edge := edgeCommand{databaseFlags: databaseFlags{Data: filepath.Join(dir, "typo")}}
		err := edge.Run(newEnv(t.Context(), t.Output(), slog.New(slog.DiscardHandler)))
		require.ErrorContains(t, err, "there is no database: --data (KITH_DATA) or --database-url")
		require.GreaterOrEqual(t, time.Since(start), databaseWait)
	})
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// The edge starts as soon as the backend has created the database.
func TestDatabase_OfABackendThatStartsLater(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		time.AfterFunc(databaseWait/2, func() {
			assert.NoError(t, os.WriteFile(filepath.Join(data, "kith.db"), nil, 0o600))
		})
		edge := edgeCommand{databaseFlags: databaseFlags{Data: data}}
		require.NoError(t, edge.awaitDatabase(t.Context()))
		require.Less(t, time.Since(start), databaseWait)
	})
}

// Only their owner may read the files of the service.
func TestDatabase_IsPrivate(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	var out, errOut strings.Builder
	require.Zero(t, run([]string{"tenant", "create", "acme", "--landing-url", "https://acme.example/", "--data", data}, &out, &errOut), errOut.String())
	require.NoError(t, filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		require.Zero(t, info.Mode().Perm()&0o077, path)
		return err
	}))
	_, err := os.Stat(filepath.Join(data, "kith.db"))
	require.NoError(t, err)
}
