// Package pretty replaces github.com/tidwall/pretty, which gjson links for its path
// modifiers @pretty and @ugly. The real package adds encoding/json, fmt and reflect to the
// component, a sixth of its size. The component does not use those modifiers; here they
// return the JSON unchanged.
package pretty

// Options are the options of the real package, without effect.
type Options struct {
	Width          int
	Prefix, Indent string
	SortKeys       bool
}

// DefaultOptions are the options of the real package, without effect.
var DefaultOptions = &Options{Width: 80, Indent: "  "}

// Pretty returns json.
func Pretty(json []byte) []byte { return json }

// PrettyOptions returns json.
func PrettyOptions(json []byte, _ *Options) []byte { return json }

// Ugly returns json.
func Ugly(json []byte) []byte { return json }

// UglyInPlace returns json.
func UglyInPlace(json []byte) []byte { return json }
