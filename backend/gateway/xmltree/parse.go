package xmltree

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Bounds of a document. They are above all that the gateway sends: a page of
// subscriptions has some 60,000 elements, seven deep.
const (
	MaxDepth = 32
	MaxNodes = 200_000
)

// Parse reads one document; its caller bounds the size. Namespaces, comments
// and processing instructions are passed over. A document type is refused,
// since only an attacker sends one; entities other than XML's own five are
// unknown.
func Parse(doc []byte) (*Node, error) {
	p := parser{decoder: xml.NewDecoder(bytes.NewReader(doc))}
	for {
		token, err := p.decoder.Token()
		if errors.Is(err, io.EOF) {
			return p.result()
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
	// open are the elements that have begun and not ended, outermost first,
	// and text is what was read in the innermost since it began.
	open  []*Node
	text  strings.Builder
	nodes int
}

func (p *parser) result() (*Node, error) {
	if p.root == nil {
		return nil, errors.New("xmltree: there is no element")
	}
	return p.root, nil
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
		return errors.New("a document type is not taken")
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
