// Command strict reads Kubernetes manifests from the standard input, and fails if one has a
// kind that Kubernetes does not know, an unknown or repeated field, or a value of another
// type. It prints the kind and name of each.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "strict:", err)
		os.Exit(1)
	}
}

func run() error {
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewDocumentDecoder(os.Stdin)
	defer documents.Close()
	var failed error
	for {
		text := make([]byte, 1<<20)
		n, err := documents.Read(text)
		if errors.Is(err, io.EOF) {
			return failed
		}
		if err != nil {
			return err
		}
		if isEmpty(text[:n]) {
			continue
		}
		object, kind, err := decoder.Decode(text[:n], nil, nil)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%w in:\n%s", err, text[:n]))
			continue
		}
		about, err := meta.Accessor(object)
		if err != nil {
			return err
		}
		fmt.Println(kind.Kind, about.GetName())
	}
}

// isEmpty reports whether a document has comments and blank lines only.
func isEmpty(text []byte) bool {
	comment := false
	for _, c := range text {
		switch {
		case c == '\n':
			comment = false
		case c == '#':
			comment = true
		case !comment && c != ' ' && c != '-' && c != '\r':
			return false
		}
	}
	return true
}
