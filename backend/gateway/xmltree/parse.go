package xmltree

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Bounds of a document. The largest documents of the gateway are below them: a page of
// subscriptions has about 60,000 elements in seven levels.
const (
	MaxDepth = 32
	MaxNodes = 200_000
)

// Parse parses one document; the caller bounds its size. Namespaces, comments and
// processing instructions are ignored. A document type is refused, since the gateway
// sends none. Only the five predefined entities of XML are known.
func Parse(doc []byte) (*Node, error) {
	p := parser{decoder: xml.NewDecoder(bytes.NewReader(doc))}
	for {
		token, err := p.decoder.Token()
		if errors.Is(err, io.EOF) {
			if p.root == nil {
				return nil, errors.New("xmltree: the document has no element")
			}
			return p.root, nil
		}
		if err == nil {
			err = p.take(token)
		}
		if err != nil {
			return nil, fmt.Errorf("xmltree: %w", err)
		}
	}
}

type parser struct {
	decoder *xml.Decoder
	root    *Node
	// open are the elements that have not ended, outermost first. text is the text of
	// the innermost so far.
	open  []*Node
	text  strings.Builder
	nodes int
}

func (p *parser) take(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		return p.begin(t)
	case xml.EndElement:
		p.end()
	case xml.CharData:
		if len(p.open) > 0 {
			p.text.Write(t)
		}
	case xml.Directive:
		return errors.New("a document type is not allowed")
	}
	return nil
}

func (p *parser) begin(e xml.StartElement) error {
	n := &Node{Name: Snake(e.Name.Local)}
	for _, a := range e.Attr {
		switch a.Name.Local {
		case "type":
			n.Type = a.Value
		case "nil":
			n.Nil = a.Value == "true"
		}
	}
	if p.nodes++; p.nodes > MaxNodes || len(p.open) >= MaxDepth {
		return fmt.Errorf("more than %d elements, or %d levels", MaxNodes, MaxDepth)
	}
	switch {
	case len(p.open) > 0:
		parent := p.open[len(p.open)-1]
		parent.Children = append(parent.Children, n)
	case p.root != nil:
		return errors.New("a second document follows")
	default:
		p.root = n
	}
	p.open = append(p.open, n)
	p.text.Reset()
	return nil
}

func (p *parser) end() {
	n := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	if len(n.Children) == 0 && !n.Nil && n.Type != TypeArray && n.Type != TypeCollection {
		n.Text = p.text.String()
	}
	p.text.Reset()
}
