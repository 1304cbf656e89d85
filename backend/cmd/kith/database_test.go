package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/core/auth"
)

// aboutATenant are commands about an existing tenant, acme.
var aboutATenant = []string{
	"tenant show acme", "tenant set acme --discount-id x", "tenant erase acme --yes", "tenant export acme FILE", "tenant origin list acme",
	"tenant sftp-key list acme", "token --tenant acme --account anna --user anna", "program list --tenant acme", "program try --tenant acme --event purchase classic", "program orders --tenant acme anna", "api --tenant acme GET /programs",
	"person list acme", "person invite acme ann@acme.example", "person reset-password ann@acme.example", "webhook allow --tenant acme", "webhook rotate-key", "gateway show --tenant acme", "backup FILE",
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
		tryAll(t, "master-key: (set) does not belong to this database and cannot decrypt its secrets: set KITH_MASTER_KEY to the key that the database was created with\n", commands, other...)
		require.Equal(t, before, dumped(t, url, ""), name)
		replica, err := store.OpenReplica(url, "")
		require.NoError(t, err)
		wrong, err := auth.ParseKeyring(strings.Repeat("11", 32))
		require.NoError(t, err)
		edge := replicas{keys: wrong, of: &databaseFlags{MasterKey: strings.Repeat("11", 32)}}
		require.ErrorContains(t, edge.check(t.Context(), replica), "does not belong to this database")
		require.NoError(t, replica.Close())
		execSQL(t, url, `UPDATE master_key SET fingerprint = ''`)
	}
	requireKith(t, "tenant", "show", "acme", "--data", data)
	require.Equal(t, "1", textSQL(t, url, `SELECT count(*) FROM master_key WHERE fingerprint <> ''`))

	// A missing key is not replaced by a new one.
	tryAll(t, "master-key: is neither in KITH_MASTER_KEY nor in "+filepath.Join(data, "master.key")+", and this database has one: put it", []string{"serve", "tenant show acme", "token --tenant acme --account anna --user anna"}, "--data", data)
	require.NoFileExists(t, filepath.Join(data, "master.key"))
}

// An empty KITH_DATA or --data means the default, and not the current folder.
func TestDatabase_EmptyDataFolder(t *testing.T) {
	for _, args := range [][]string{{"serve"}, {"serve", "--data="}, {"serve", "--data", ""}} {
		for _, variable := range []string{"", "elsewhere"} {
			t.Setenv("KITH_DATA", variable)
			var c cli
			parser, err := newParser(&c)
			require.NoError(t, err)
			_, err = parser.Parse(args)
			require.NoError(t, err)
			if len(args) == 1 && variable != "" {
				require.Equal(t, variable, c.Serve.Data)
				continue
			}
			require.Equal(t, "./data", c.Serve.Data, "KITH_DATA=%s kith %q", variable, args)
		}
	}
}

// No command creates a database in a file that was emptied, or beside the files of jobs of one
// that was removed. A new file is accepted beside a key alone, with a warning. Characters that have
// a meaning in a URL have none in a folder's name.
func TestDatabase_EmptiedFileIsRefused(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "a?mode=memory%20#b")
	create := []string{"tenant", "create", "acme", "--landing-url", "https://acme.example/", "--data", data}
	requireKith(t, create...)
	file := filepath.Join(data, "kith.db")
	require.NoError(t, os.Truncate(file, 0))
	key := filepath.Join(data, "master.key")
	require.NoError(t, os.WriteFile(key, []byte(storyKey+"\n"), 0o600))
	emptied := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(file, emptied, emptied))
	commands := []string{"serve", "doctor", "tenant create other --landing-url https://x.example/", "tenant show acme"}
	tryAll(t, "has 0 bytes, but there is a master key, so it was emptied", commands, "--data", data)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Zero(t, info.Size())
	tryAll(t, "has 0 bytes", []string{"serve"}, "--data", data, "--master-key", strings.Repeat("11", 32))
	require.NoError(t, os.Remove(file))
	files := filepath.Join(data, "files")
	require.NoError(t, os.MkdirAll(filepath.Join(files, "acme"), 0o700))
	commands = []string{"serve", "doctor", "tenant create other --landing-url https://x.example/", "tenant show acme", "backup FILE"}
	tryAll(t, "does not exist, but there are a master key and files of jobs in "+files, commands, "--data", data)
	require.NoError(t, os.WriteFile(file+"-wal", []byte("x"), 0o600))
	tryAll(t, "is the log of a database that is not there", commands, "--data", data)
	require.NoError(t, os.WriteFile(file+"-saved-20260101T000000Z", []byte("x"), 0o600))
	tryAll(t, "has saved what was stored in "+file+"-saved-20260101T000000Z", commands, "--data", data)
	require.NoError(t, errors.Join(os.Remove(file+"-wal"), os.Remove(file+"-saved-20260101T000000Z")))
	require.NoFileExists(t, file)
	require.NoError(t, os.RemoveAll(files))
	var out, errOut strings.Builder
	require.Zero(t, run(create, &out, &errOut), &errOut)
	require.Contains(t, errOut.String(), "new database beside an existing master key")
	require.FileExists(t, file)
}

// Every command refuses a database that a newer version of kith has migrated, before it
// writes, and names that version. The commands are those of the command line that open a
// database; each is run.
func TestDatabase_NewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "newer")
	require.NoError(t, err)
	t.Cleanup(func() {
		// A command that was refused may still be writing its compiled component.
		require.Eventually(t, func() bool { return os.RemoveAll(folder) == nil }, time.Minute, 10*time.Millisecond)
	})
	data := filepath.Join(folder, "data")
	url := "file:" + filepath.Join(data, "kith.db")
	requireKith(t, "tenant", "create", "acme", "--landing-url", "https://acme.example/", "--data", data)
	file := filepath.Join(t.TempDir(), "backup")
	requireKith(t, "backup", file, "--data", data)
	require.Equal(t, version, textSQL(t, url, fmt.Sprintf(`SELECT kith FROM schema_version WHERE version = %d`, store.SchemaVersion())))
	execSQL(t, url, `INSERT INTO schema_version (version, applied_at, kith) VALUES (9999, 1, '99.0.1')`)
	before := dumped(t, url, "")
	const says = "the database has schema 9999, made by kith 99.0.1, and this kith knows schema "
	var c cli
	parser, err := newParser(&c)
	require.NoError(t, err)
	tried := 0
	for _, leaf := range parser.Model.Leaves(true) {
		words := strings.Fields(leaf.Path())
		if !takesFlag(leaf, "database-url") || strings.Join(words, " ") == "master-key new" { // which opens no database
			continue
		}
		args := append(words, "--data", data, "--master-key", storyKey)
		for _, flag := range leaf.Flags {
			if flag.Required {
				args = append(args, "--"+flag.Name, valueFor(t, leaf, flag.Name, file))
			}
		}
		for _, p := range leaf.Positional {
			args = append(args, valueFor(t, leaf, p.Name, file))
		}
		args = append(args, strings.Fields(map[string]string{"tenant erase": "--yes", "api": "--tenant acme"}[leaf.Path()])...)
		var out, errOut strings.Builder
		require.Equal(t, 1, run(args, &out, &errOut), "%s: %s%s", args, out.String(), errOut.String())
		require.Contains(t, out.String()+errOut.String(), says, "%s", args)
		tried++
	}
	require.Greater(t, tried, 40)
	require.Equal(t, before, dumped(t, url, ""))
}

func takesFlag(leaf *kong.Node, name string) bool {
	return slices.ContainsFunc(leaf.Flags, func(f *kong.Flag) bool { return f.Name == name })
}

// valueFor returns a valid value of an argument or flag of a command.
func valueFor(t *testing.T, leaf *kong.Node, name, backup string) string {
	t.Helper()
	files := map[string]string{
		"tenant sftp-key add": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJzvOrtVlLRwUzrQSBFkwBFQA0t1kAQrXNkv0a3R5RCz test", "program apply": `{"id":"p","sharing":{"url":"https://x.example/"}}`,
	}
	if text, ok := files[leaf.Path()]; ok && name == "file" {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	if name == "file" && leaf.Path() != "restore" {
		return filepath.Join(t.TempDir(), "file")
	}
	return map[string]string{
		"alias": "acme", "tenant": "acme", "account": "anna", "user": "anna", "email": "ann@acme.example", "role": map[bool]string{true: "all", false: "viewer"}[leaf.Path() == "key create"],
		"origin": "https://x.example", "url": "https://x.example/hook", "landing-url": "https://x.example/", "address": "192.0.2.0/24", "fingerprint": "SHA256:x",
		"key": "classic", "side": "referrer", "event": "purchase", "name": "default", "merchant-id": "m", "public-key": "p", "file": backup, "method": "GET", "path": "/users", "field": "limit=1", "setting": "name=Ours",
	}[name]
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
		var c cli
		parser, err := newParser(&c)
		require.NoError(t, err)
		_, err = parser.Parse([]string{"edge", "--data", filepath.Join(dir, "typo")})
		require.NoError(t, err)
		err = c.Edge.Run(newEnv(t.Context(), t.Output(), slog.New(slog.DiscardHandler)))
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
			assert.NoError(t, os.WriteFile(filepath.Join(data, "kith.db"), []byte("x"), 0o600))
			assert.NoError(t, os.WriteFile(filepath.Join(data, "master.key"), []byte(storyKey+"\n"), 0o600))
		})
		edge := edgeCommand{databaseFlags: databaseFlags{Data: data}}
		require.NoError(t, edge.awaitDatabase(newEnv(t.Context(), t.Output(), slog.New(slog.DiscardHandler))))
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
