package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// recipe is what a Containerfile says.
type recipe struct {
	config v1.Config
	copies []copied
}

// copied is a file or folder of the checkout, and its place in the image.
type copied struct {
	from, to string
	owner    int
}

// readRecipe reads a Containerfile with the instructions that an image from scratch needs,
// and no others; container engines build the same image from it.
func readRecipe(file string, args map[string]string) (*recipe, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var r recipe
	for i, line := range strings.Split(strings.ReplaceAll(string(text), "\\\n", " "), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		if err := r.add(name, strings.TrimSpace(rest), args); err != nil {
			return nil, fmt.Errorf("%s: instruction %d: %s: %w", file, i+1, name, err)
		}
	}
	return &r, nil
}

func (r *recipe) add(name, rest string, args map[string]string) error {
	switch name {
	case "FROM":
		if rest != "scratch" {
			return errors.New("must be scratch")
		}
	case "ARG":
		if _, ok := args[rest]; !ok {
			return fmt.Errorf("%s is not known", rest)
		}
	case "COPY":
		return r.copy(os.Expand(rest, func(name string) string { return args[name] }))
	case "ENV":
		r.config.Env = append(r.config.Env, strings.Fields(rest)...)
	case "USER":
		r.config.User = rest
	case "VOLUME":
		r.config.Volumes = map[string]struct{}{rest: {}}
	case "EXPOSE":
		r.config.ExposedPorts = map[string]struct{}{}
		for _, port := range strings.Fields(rest) {
			r.config.ExposedPorts[port+"/tcp"] = struct{}{}
		}
	case "ENTRYPOINT":
		return json.Unmarshal([]byte(rest), &r.config.Entrypoint)
	case "HEALTHCHECK":
		return r.health(rest)
	default:
		return errors.New("is not supported")
	}
	return nil
}

func (r *recipe) copy(rest string) error {
	words, owner := strings.Fields(rest), 0
	if after, ok := strings.CutPrefix(words[0], "--chown="); ok {
		id, group, _ := strings.Cut(after, ":")
		n, err := strconv.Atoi(id)
		if err != nil || group != id {
			return fmt.Errorf("owner %s: must be a number, and the same number as group", after)
		}
		owner, words = n, words[1:]
	}
	if len(words) != 2 {
		return errors.New("must have one source and one destination")
	}
	r.copies = append(r.copies, copied{path.Clean(words[0]), path.Clean(words[1]), owner})
	return nil
}

func (r *recipe) health(rest string) error {
	options, command, ok := strings.Cut(rest, "CMD ")
	if !ok {
		return errors.New("has no CMD")
	}
	h := &v1.HealthConfig{Test: []string{"CMD"}}
	for _, option := range strings.Fields(options) {
		name, value, _ := strings.Cut(option, "=")
		d, err := time.ParseDuration(value)
		if err != nil {
			return err
		}
		switch name {
		case "--interval":
			h.Interval = d
		case "--timeout":
			h.Timeout = d
		case "--start-period":
			h.StartPeriod = d
		default:
			return fmt.Errorf("%s is not supported", name)
		}
	}
	var args []string
	if err := json.Unmarshal([]byte(command), &args); err != nil {
		return err
	}
	h.Test = append(h.Test, args...)
	r.config.Healthcheck = h
	return nil
}
