package e2e

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var updateDocs = flag.Bool("update", false, "TestDocs: rewrite the answers that the documents show")

// documents are the files whose commands are run. A name that begins with _ is a draft.
func documents(t testing.TB) (paths []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, path := range found {
			path, err = filepath.Rel(root, path)
			require.NoError(t, err)
			if !strings.HasPrefix(filepath.Base(path), "_") {
				paths = append(paths, path)
			}
		}
	}
	require.NotEmpty(t, paths)
	return paths
}

// sequels are documents that many read after another one, with the same program and
// in the same terminal. They are run so, too.
var sequels = map[string]string{guide: "docs/stripe.md"}

// Every command of a document succeeds, in the order of the document, and answers
// what is shown below it.
func TestDocs(t *testing.T) {
	t.Parallel()
	for _, path := range documents(t) {
		t.Run(strings.TrimPrefix(strings.TrimSuffix(path, ".md"), "docs/"), func(t *testing.T) {
			t.Parallel()
			d := readDocument(t, path)
			switch {
			case d.by != "":
				require.Contains(t, declaredTests(t), d.by, "%s: doctest: by", path)
			case slices.ContainsFunc(d.blocks, block.runs):
				r := newReader(t, d)
				r.read(t)
				if next := sequels[path]; next != "" {
					r.document, r.answers = readDocument(t, next), map[int]replacement{}
					r.read(t)
				}
			}
		})
	}
}

// The tag of the guide has the version and the hash of the built browser script. -update
// writes them; it comes before TestDocs, which runs in parallel.
func TestDocs_Script(t *testing.T) {
	built, err := os.ReadFile(filepath.Join(root, "edge", "script", "kith.min.js"))
	require.NoError(t, err, "run make edge")
	version, hash := sha256.Sum256(built), sha512.Sum384(built)
	want := fmt.Sprintf(`src="/kith.js?v=%x" integrity="sha384-%s"`, version[:8], base64.StdEncoding.EncodeToString(hash[:]))
	path := filepath.Join(root, guide)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	shown := regexp.MustCompile(`src="/kith\.js\?v=[0-9a-f]*" integrity="sha384-[^"]*"`)
	if *updateDocs {
		require.NoError(t, os.WriteFile(path, shown.ReplaceAll(text, []byte(want)), 0o600))
		return
	}
	found := shown.FindAllString(string(text), -1)
	require.Equal(t, []string{want, want}, found, "run make golden")
}

// What the tests do not run is little, and says why.
func TestDocs_NotRun(t *testing.T) {
	t.Parallel()
	var reasons []string
	for _, path := range documents(t) {
		for _, b := range readDocument(t, path).blocks {
			if b.notRun != "" {
				reasons = append(reasons, fmt.Sprintf("%s:%d: %s", path, b.first, b.notRun))
				require.GreaterOrEqual(t, len(strings.Fields(b.notRun)), 3, "%s:%d: not-run needs a reason", path, b.first)
			}
		}
	}
	t.Logf("blocks that are not run:\n%s", strings.Join(reasons, "\n"))
	require.LessOrEqual(t, len(reasons), 15, reasons)
}

// reader does what a document says, in a working folder of its own.
type reader struct {
	document *document
	folder   string
	shell    *shell
	// ports are those that the document names, with those that take their place.
	ports map[string]string
	// answers are what -update writes, by the step's first line.
	answers map[int]replacement
	// dev starts kith dev, and kith is the one that was started first; nil: the document
	// starts its programs.
	dev  func() *process
	kith *process
}

type replacement struct {
	end   int
	lines []string
}

// newReader makes the folder: it looks like the top of the checkout, but has no data.
// kith dev runs in it, unless the document starts its programs by itself.
func newReader(t testing.TB, d *document) *reader {
	t.Helper()
	folder := t.TempDir()
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, entry := range entries {
		if name := entry.Name(); name != "data" && name[0] != '.' {
			target, err := filepath.Abs(filepath.Join(root, name))
			require.NoError(t, err)
			require.NoError(t, os.Symlink(target, filepath.Join(folder, name)))
		}
	}
	s := newSite(t)
	s.data, s.sftp = filepath.Join(folder, "data"), freeAddr(t)
	lab, stripeLab := "KITH_LAB_ADDR="+freeAddr(t), "KITH_STRIPE_LAB_ADDR="+freeAddr(t)
	r := &reader{document: d, folder: folder, answers: map[int]replacement{}, ports: map[string]string{
		"3000": port(t, s.edge), "8080": port(t, s.backend), "8090": port(t, lab), "8091": port(t, stripeLab), "2022": port(t, s.sftp),
	}}
	for _, m := range ownPort.FindAllStringSubmatch(strings.Join(d.lines, "\n"), -1) {
		if r.ports[m[1]] == "" {
			r.ports[m[1]] = port(t, freeAddr(t))
		}
	}
	env := slices.DeleteFunc(s.command(t).Env, func(entry string) bool { return strings.HasPrefix(entry, "KITH_DATA") })
	env = append(env, lab, stripeLab, "KITH_BACKEND_URL="+s.backend, "HOME="+folder, "LC_ALL=C.UTF-8", "TZ=UTC",
		"PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"))
	r.shell = newShell(t, folder, env)
	if !d.alone {
		r.dev = func() *process { return s.dev(t, lab, stripeLab) }
		r.kith = r.dev()
	}
	return r
}

var (
	// ownPort is a port of this machine in a document.
	ownPort = regexp.MustCompile(`(?:127\.0\.0\.1|localhost|0\.0\.0\.0):(\d{4,5})\b`)
	// somePort is where a command or a program of a document names a port.
	somePort = regexp.MustCompile(`(:|%3A|-P |-p |[Pp][Oo][Rr][Tt]\s?=\s?|listen\(|listen )(\d{4,5})\b`)
)

func port(t testing.TB, addr string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr[strings.LastIndexAny(addr, "/=")+1:])
	require.NoError(t, err)
	return port
}

// here is the text of a document with the ports of this run.
func (r *reader) here(text string) string { return renumbered(text, r.ports) }

// there is an output as the document shows it.
func (r *reader) there(text string) string {
	back := map[string]string{}
	for documented, own := range r.ports {
		back[own] = documented
	}
	return strings.ReplaceAll(renumbered(text, back), r.folder, "/srv/kith")
}

func renumbered(text string, ports map[string]string) string {
	return somePort.ReplaceAllStringFunc(text, func(found string) string {
		m := somePort.FindStringSubmatch(found)
		if other := ports[m[2]]; other != "" {
			return m[1] + other
		}
		return found
	})
}

// read goes through the document.
func (r *reader) read(t *testing.T) {
	for _, b := range r.document.blocks {
		where := fmt.Sprintf("%s:%d", r.document.path, b.first+1)
		switch {
		case b.notRun != "":
		case b.file != "":
			path := filepath.Join(r.folder, b.file)
			require.True(t, filepath.IsLocal(b.file), "%s: file=%s", where, b.file)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte(r.here(b.text(r.document))), 0o600))
		case b.background:
			r.launch(t, where, b)
		case b.language == "sh":
			t.Log(where)
			out, status := r.shell.run(t, strictly(r.here(b.text(r.document))))
			require.Zero(t, status, "%s:\n%s", where, r.there(out))
		case b.language == "console":
			steps, err := b.steps(r.document)
			require.NoError(t, err)
			for _, s := range steps {
				r.try(t, b, s)
			}
		}
	}
	if len(r.answers) > 0 {
		r.update(t)
	}
}

// launch starts a block in the background, and waits for its port, if it has one.
func (r *reader) launch(t *testing.T, where string, b block) {
	t.Helper()
	output := r.shell.background(t, r.here(b.text(r.document)))
	if b.waitFor == "" {
		return
	}
	require.Contains(t, r.ports, b.waitFor, "%s: no address of the document has this port", where)
	await(t, func() error {
		c, err := net.Dial("tcp", "127.0.0.1:"+r.ports[b.waitFor])
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", where, err, r.there(output()))
		}
		return c.Close()
	})
}

// try runs one command and compares its answer with what is shown.
func (r *reader) try(t *testing.T, b block, s step) {
	t.Helper()
	out, status := r.shell.run(t, r.here(s.command))
	var got, shown strings.Builder
	for line := range strings.Lines(strings.TrimRight(r.there(out), "\n")) {
		got.WriteString(strings.TrimRight(line, " \t\r\n") + "\n")
	}
	for _, line := range r.document.lines[s.first:s.end] {
		shown.WriteString(strings.TrimPrefix(line, b.indent) + "\n")
	}
	where := fmt.Sprintf("%s:%d: $ %s", r.document.path, s.first, s.command)
	require.True(t, got.Len() > 0 || status == 0, "%s: status %d without a word", where, status)
	if matches(shown.String(), got.String()) {
		return
	}
	if !*updateDocs {
		t.Fatalf("%s (status %d)\nanswers\n%s\nshown is\n%s\ngo test ./wasm/e2e -run '%s$' -update rewrites it", where, status, got.String(), shown.String(), t.Name())
	}
	answer := replacement{end: s.end}
	for line := range strings.Lines(elided(got.String())) {
		answer.lines = append(answer.lines, b.indent+strings.TrimSuffix(line, "\n"))
	}
	r.answers[s.first] = answer
}

// update writes the document with the answers of this run.
func (r *reader) update(t *testing.T) {
	var text []string
	last := 0
	for _, first := range slices.Sorted(maps.Keys(r.answers)) {
		text = append(append(text, r.document.lines[last:first]...), r.answers[first].lines...)
		last = r.answers[first].end
	}
	text = append(text, r.document.lines[last:]...)
	require.NoError(t, os.WriteFile(filepath.Join(root, r.document.path), []byte(strings.Join(text, "\n")), 0o600))
}

// commands are the lines of a document's blocks of shell.
func commands(t testing.TB, document string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", document))
	require.NoError(t, err)
	shell := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			shell = strings.HasPrefix(line, "```sh")
		case shell && !strings.HasPrefix(line, "#"):
			all = append(all, line)
		}
	}
	require.NotEmpty(t, all)
	return all
}

// publicKey writes an Ed25519 public key as ssh-keygen does, and returns its fingerprint.
func publicKey(t testing.TB, path string, fill byte) (fingerprint string) {
	t.Helper()
	var raw []byte
	for _, part := range []string{"ssh-ed25519", strings.Repeat(string([]byte{fill}), 32)} {
		raw = append(binary.BigEndian.AppendUint32(raw, uint32(len(part))), part...)
	}
	require.NoError(t, os.WriteFile(path, []byte("ssh-ed25519 "+base64.StdEncoding.EncodeToString(raw)+"\n"), 0o600))
	sum := sha256.Sum256(raw)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// All commands on the page about leaked keys work, in the order of the page.
func TestDocs_LeakedKey(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.createTenant(t, "shop", "--landing-url", "https://shop.example/")
	s.subscribe(t, "shop", "https://shop.example/hook")
	folder := t.TempDir()
	old := publicKey(t, filepath.Join(folder, "old.pub"), 1)
	publicKey(t, filepath.Join(folder, "new.pub"), 2)
	s.ok(t, "tenant", "sftp-key", "add", "shop", filepath.Join(folder, "old.pub"))
	there := strings.NewReplacer("'", "", "SHA256:OLD", old, "new.pub", filepath.Join(folder, "new.pub"))
	for _, command := range commands(t, "leaked-key.md") {
		words := strings.Fields(there.Replace(command))
		require.Equal(t, "kith", words[0], command)
		s.ok(t, words[1:]...)
	}
	require.Contains(t, s.ok(t, "key", "list", "shop"), "checkout")
	require.NotContains(t, s.ok(t, "tenant", "sftp-key", "list", "shop"), old)
}
