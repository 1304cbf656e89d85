package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// images writes an image for each architecture, in the form that podman load and docker
// load read.
func (r *release) images() error {
	for _, t := range targets {
		if t.os != "linux" {
			continue
		}
		if err := r.image(t); err != nil {
			return fmt.Errorf("%s: %w", t.arch, err)
		}
	}
	return nil
}

func (t target) imageFile() string { return "kith-image-" + t.os + "-" + t.arch + ".tar" }

func (r *release) image(t target) error {
	recipe, err := readRecipe("deploy/Containerfile", map[string]string{"RELEASE": r.out, "TARGETOS": t.os, "TARGETARCH": t.arch})
	if err != nil {
		return err
	}
	files, err := r.archive(recipe.copies)
	if err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil })
	if err != nil {
		return err
	}
	image, err := mutate.Append(empty.Image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: r.commit}, CreatedBy: "make release"}})
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config.OS, config.Architecture, config.Created = t.os, t.arch, v1.Time{Time: r.commit}
	config.Config = recipe.config
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return err
	}
	tag, err := name.NewTag("kith:" + r.version)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(r.path(t.imageFile()), tag, image)
}

// archive returns the files of an image, all with the time of the commit.
func (r *release) archive(copies []copied) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	written := map[string]bool{"/": true, ".": true}
	folder := func(name string, owner int) error {
		if written[name] {
			return nil
		}
		written[name] = true
		return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name[1:] + "/", Mode: 0o755, Uid: owner, Gid: owner, ModTime: r.commit})
	}
	file := func(from, to string, owner int) error {
		info, err := os.Stat(from)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: to[1:], Size: int64(len(content)), Mode: mode, Uid: owner, Gid: owner, ModTime: r.commit}); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	}
	for _, c := range copies {
		if err := folder(path.Dir(c.to), 0); err != nil {
			return nil, err
		}
		entries, err := os.ReadDir(c.from)
		if err != nil { // a file
			if err := file(c.from, c.to, c.owner); err != nil {
				return nil, err
			}
			continue
		}
		if err := folder(c.to, c.owner); err != nil {
			return nil, err
		}
		for _, e := range entries {
			if err := file(path.Join(c.from, e.Name()), path.Join(c.to, e.Name()), c.owner); err != nil {
				return nil, err
			}
		}
	}
	return out.Bytes(), w.Close()
}
