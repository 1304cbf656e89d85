// Command release writes the files of a release to a folder:
//
//	release -version VERSION -out FOLDER
//
// It runs in the top folder of the checkout, after make edge and make test. The files
// depend on the commit, on the version, and on the version of Go: a second run elsewhere
// writes the same bytes. All times in them are that of the commit, or SOURCE_DATE_EPOCH
// (seconds) if it is set, as it must be where there is no git.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func main() {
	version := flag.String("version", "", "version of the release, such as 1.2.3 or 1.3.0-rc.1")
	out := flag.String("out", "", "folder to write; it must be missing or empty")
	flag.Parse()
	if err := run(*version, *out); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is what each step needs.
type release struct {
	version string
	// out is the folder of the files that are published.
	out string
	// commit is the time of the commit.
	commit time.Time
	// parts is the software of others in the binaries.
	parts []part
}

// path returns the path of a file of the release.
func (r *release) path(name string) string { return filepath.Join(r.out, name) }

// write writes a file of the release.
func (r *release) write(name string, content []byte) error {
	return os.WriteFile(r.path(name), content, 0o644) // #nosec G306 -- published
}

var versionForm = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z]+(\.[0-9A-Za-z]+)*)?$`)

func run(version, out string) error {
	if !versionForm.MatchString(version) {
		return fmt.Errorf("version %q: is not MAJOR.MINOR.PATCH; give one such as 1.2.3 or 1.3.0-rc.1", version)
	}
	commit, err := commitTime()
	if err != nil {
		return err
	}
	if found, err := os.ReadDir(out); err == nil && len(found) > 0 {
		return fmt.Errorf("out: %s is not empty; remove it, or give another folder", out)
	}
	if err := os.MkdirAll(out, 0o755); err != nil { // #nosec G301 -- published
		return err
	}
	r := &release{version: version, out: out, commit: commit}
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"component", r.component},
		{"binaries", r.binaries},
		{"licenses", r.licenses},
		{"SBOM", r.sboms},
		{"manual", r.manual},
		{"packages", r.packages},
		{"image", r.images},
		{"checksums", r.checksums},
	} {
		begin := time.Now()
		if err := step.run(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintf(os.Stderr, "== release: %s (%.0f s)\n", step.name, time.Since(begin).Seconds())
	}
	return nil
}

// commitTime returns the time that all files get. A checkout with changes is refused,
// because no commit would have the files.
func commitTime() (time.Time, error) {
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		changes, err := output("git", "status", "--porcelain")
		if err != nil {
			return time.Time{}, fmt.Errorf("%w; without git, set SOURCE_DATE_EPOCH", err)
		}
		if changes != "" {
			return time.Time{}, errors.New("the checkout has changes that are not committed; commit or remove them:\n" + changes)
		}
		if seconds, err = output("git", "log", "-1", "--format=%ct"); err != nil {
			return time.Time{}, err
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(seconds), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w; give seconds since 1970", err)
	}
	return time.Unix(n, 0).UTC(), nil
}

// output runs a command and returns what it printed.
func output(name string, args ...string) (string, error) {
	command := exec.Command(name, args...) // #nosec G204 -- constant commands
	var errOut strings.Builder
	command.Stderr = &errOut
	printed, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", command, err, errOut.String())
	}
	return string(printed), nil
}

// checksums writes SHA256SUMS, which sha256sum --check reads, of all other files.
func (r *release) checksums() error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, f := range files {
		content, err := os.ReadFile(r.path(f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), f.Name())
	}
	return r.write("SHA256SUMS", []byte(sums.String()))
}
