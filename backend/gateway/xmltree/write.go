package xmltree

import (
	"bytes"
	"encoding/xml"
	"strings"
)

// Encode returns the node as a document, indented by two spaces as the gateway does.
// Names are written with hyphens. Characters that XML does not allow become U+FFFD.
func (n *Node) Encode() []byte {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	n.write(&b, 0)
	return b.Bytes()
}

func (n *Node) write(b *bytes.Buffer, depth int) {
	indent(b, depth)
	name := dashed(n.Name)
	b.WriteString("<" + name)
	attribute(b, "type", n.Type)
	if n.Nil {
		attribute(b, "nil", "true")
	}
	switch {
	case len(n.Children) > 0:
		b.WriteString(">\n")
		for _, c := range n.Children {
			c.write(b, depth+1)
		}
		indent(b, depth)
	case n.Text != "" && !n.Nil:
		b.WriteByte('>')
		escape(b, n.Text)
	default:
		b.WriteString("/>\n")
		return
	}
	b.WriteString("</" + name + ">\n")
}

func indent(b *bytes.Buffer, depth int) {
	for range depth {
		b.WriteString("  ")
	}
}

func attribute(b *bytes.Buffer, name, value string) {
	if value != "" {
		b.WriteString(" " + name + `="`)
		escape(b, value)
		b.WriteByte('"')
	}
}

func escape(b *bytes.Buffer, text string) {
	// EscapeText fails only if its writer fails, and a buffer does not.
	_ = xml.EscapeText(b, []byte(text))
}

// dashed keeps the first character: a name cannot begin with a hyphen.
func dashed(name string) string {
	if name == "" {
		return name
	}
	return name[:1] + strings.ReplaceAll(name[1:], "_", "-")
}
