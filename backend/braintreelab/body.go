package braintreelab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"kith/backend/gateway/xmltree"
)

// readBody reads a body in XML, which most of the gateway's clients send, or in JSON,
// which the one for Node sends. In both cases the result has one child for each part,
// such as "subscription".
func readBody(r *http.Request) (*xmltree.Node, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return xmltree.Object("request"), nil
	}
	if strings.Contains(r.Header.Get("Content-Type"), "json") {
		return parseJSON(text)
	}
	root, err := xmltree.Parse(text)
	if err != nil {
		return nil, err
	}
	return xmltree.Object("request", root), nil
}

// parseJSON converts a JSON object to the tree of the same request in XML.
func parseJSON(text []byte) (*xmltree.Node, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	n, err := jsonValue(d, "request", 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("a second value follows")
	}
	return n, nil
}

func jsonValue(d *json.Decoder, name string, depth int) (*xmltree.Node, error) {
	if depth > xmltree.MaxDepth {
		return nil, fmt.Errorf("more than %d levels", xmltree.MaxDepth)
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		return jsonChildren(d, name, t, depth)
	case nil:
		return xmltree.Null(name), nil
	case bool:
		return xmltree.Bool(name, t), nil
	default:
		return xmltree.Text(name, fmt.Sprint(t)), nil
	}
}

// jsonChildren reads an object or an array up to its end.
func jsonChildren(d *json.Decoder, name string, open json.Delim, depth int) (*xmltree.Node, error) {
	n := xmltree.Object(name)
	if open == '[' {
		n = xmltree.Array(name)
	}
	for d.More() {
		key := "item"
		if open == '{' {
			token, err := d.Token()
			if err != nil {
				return nil, err
			}
			// A key is a string, or the decoder has failed.
			key = xmltree.Snake(token.(string))
		}
		child, err := jsonValue(d, key, depth+1)
		if err != nil {
			return nil, err
		}
		n.Children = append(n.Children, child)
	}
	_, err := d.Token()
	return n, err
}
