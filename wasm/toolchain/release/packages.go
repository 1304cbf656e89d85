package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// manual writes the man page and the completions.
func (r *release) manual() error {
	page, err := output(r.path(host.binary()), "man")
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write([]byte(page)); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := r.write("kith.1.gz", packed.Bytes()); err != nil {
		return err
	}
	for shell, file := range map[string]string{"bash": "kith.bash", "zsh": "_kith", "fish": "kith.fish"} {
		text, err := output(r.path(host.binary()), "completion", shell)
		if err != nil {
			return err
		}
		if err := r.write(file, []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// packages writes the deb and rpm packages.
func (r *release) packages() error {
	source, err := os.ReadFile("deploy/package/nfpm.yaml")
	if err != nil {
		return err
	}
	for _, t := range targets {
		if t.os != "linux" {
			continue
		}
		text := strings.NewReplacer("RELEASE", r.out, "ARCH", t.arch, "VERSION", r.version).Replace(string(source))
		for _, format := range []string{"deb", "rpm"} {
			if err := r.pack(text, format); err != nil {
				return fmt.Errorf("%s of %s: %w", format, t.arch, err)
			}
		}
	}
	return nil
}

func (r *release) pack(text, format string) error {
	config, err := nfpm.Parse(strings.NewReader(text))
	if err != nil {
		return err
	}
	info, err := config.Get(format)
	if err != nil {
		return err
	}
	info.MTime = r.commit
	info.RPM.BuildHost = "localhost" // not the name of this machine
	for _, c := range info.Contents {
		// The mode of a file of the checkout depends on the user's umask.
		if c.FileInfo == nil || c.FileInfo.Mode == 0 {
			return fmt.Errorf("%s: has no mode in nfpm.yaml", c.Destination)
		}
	}
	nfpm.WithDefaults(info)
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := packager.Package(info, &out); err != nil {
		return err
	}
	return r.write(packager.ConventionalFileName(info), out.Bytes())
}
