// Package xmltree reads and writes the XML of the payment gateway: elements with a type
// hint ("array", "integer", "boolean", "date", "datetime"), or marked as nil.
//
// Names are stored in snake case. The gateway treats hyphens, underscores and capitals
// as three spellings of the same name: payloads have add-ons, the samples of the
// official SDKs add_ons, and other clients planId.
package xmltree

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Node is one element.
type Node struct {
	// Name is the element's name in snake case, such as "plan_id".
	Name string
	// Type is the type hint; empty for text and for objects.
	Type string
	// Nil marks an element that stands for no value.
	Nil bool
	// Text is the text of a leaf; empty for a node with children.
	Text string
	// Children are in document order.
	Children []*Node
}

// Type hints.
const (
	TypeArray      = "array"
	TypeCollection = "collection"
	TypeInteger    = "integer"
	TypeBoolean    = "boolean"
	TypeDate       = "date"
	TypeDateTime   = "datetime"
)

// At returns the first node at a path of names, or nil. Like all reading methods, it may
// be called on nil.
func (n *Node) At(path ...string) *Node {
	for _, name := range path {
		if n == nil {
			return nil
		}
		i := slices.IndexFunc(n.Children, func(c *Node) bool { return c.Name == name })
		if i < 0 {
			return nil
		}
		n = n.Children[i]
	}
	return n
}

// Value returns the text at the end of the path; "" if it is absent or nil.
func (n *Node) Value(path ...string) string {
	if n = n.At(path...); n == nil || n.Nil {
		return ""
	}
	return n.Text
}

// True reports whether the text at the end of the path is "true".
func (n *Node) True(path ...string) bool { return n.Value(path...) == "true" }

// Items returns the elements of the array at the end of the path.
func (n *Node) Items(path ...string) []*Node {
	if n = n.At(path...); n == nil {
		return nil
	}
	return n.Children
}

// Object returns an element with children; nil children are left out.
func Object(name string, children ...*Node) *Node { return with(&Node{Name: name}, children) }

// Array is an element whose children are its items.
func Array(name string, items ...*Node) *Node {
	return with(&Node{Name: name, Type: TypeArray}, items)
}

func with(n *Node, children []*Node) *Node {
	for _, c := range children {
		if c != nil {
			n.Children = append(n.Children, c)
		}
	}
	return n
}

// Text is a leaf with a text.
func Text(name, text string) *Node { return &Node{Name: name, Text: text} }

// TextOrNull is a leaf with a text, or one marked as nil when text is empty.
func TextOrNull(name, text string) *Node {
	if text == "" {
		return Null(name)
	}
	return Text(name, text)
}

// Null is an element marked as nil.
func Null(name string) *Node { return &Node{Name: name, Nil: true} }

// Int is a leaf with a whole number.
func Int(name string, i int) *Node {
	return &Node{Name: name, Type: TypeInteger, Text: strconv.Itoa(i)}
}

// Bool is a leaf with true or false.
func Bool(name string, b bool) *Node {
	return &Node{Name: name, Type: TypeBoolean, Text: strconv.FormatBool(b)}
}

// Date is a leaf with the day of at in UTC, or one marked as nil when at is
// zero.
func Date(name string, at time.Time) *Node { return stamp(name, TypeDate, time.DateOnly, at) }

// DateTime is a leaf with the second of at in UTC, or one marked as nil when at
// is zero.
func DateTime(name string, at time.Time) *Node { return stamp(name, TypeDateTime, time.RFC3339, at) }

func stamp(name, hint, layout string, at time.Time) *Node {
	if at.IsZero() {
		return Null(name)
	}
	return &Node{Name: name, Type: hint, Text: at.UTC().Format(layout)}
}

// Snake returns a name of any of the three spellings in snake case.
func Snake(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if c == '-' {
			c = '_'
		}
		if upper(c) {
			if i > 0 && (lower(name[i-1]) || upper(name[i-1]) && i+1 < len(name) && lower(name[i+1])) {
				b.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}

func upper(c byte) bool { return 'A' <= c && c <= 'Z' }

// lower reports whether c is a lower-case letter or a digit, which camel case treats alike.
func lower(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }
