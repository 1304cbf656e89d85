// Package openapi assembles the OpenAPI document of the REST API. The build does it, so that
// the binary has neither the parts nor a parser for YAML.
package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// document describes the whole REST API; tests compare it with the routes and with the
// requests and answers of the stories. It is written by hand, since core/wire has no
// structs from which it could be generated.
//
//go:embed openapi.yaml
var document []byte

// Examples is a JSON object with an example of each operation, by the name of the
// operation. A test writes it from the story that calls each operation once.
//
//go:embed examples.json
var Examples []byte

// Example is a call of an operation and its answer.
type Example struct {
	// Curl is the call as a command.
	Curl string `json:"curl"`
	// Request is the body of the call; empty: none.
	Request json.RawMessage `json:"request,omitempty"`
	// Status is the status of the answer.
	Status string `json:"status"`
	// Type is the media type of the answer; empty: no body.
	Type string `json:"type,omitempty"`
	// Response is the body of the answer.
	Response json.RawMessage `json:"response,omitempty"`
	// Location is the header of that name.
	Location string `json:"location,omitempty"`
}

// Assemble returns the document as JSON, in the order of the YAML. It adds the examples and the
// settings of the object of a program that x-settings names, and writes the errors that x-errors
// names into the descriptions of the responses. Top-level keys that begin with "x-" are not part
// of the document.
func Assemble() ([]byte, error) { return assemble(document, Examples) }

func assemble(document, examples []byte) ([]byte, error) {
	var tree yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(document, &tree, yaml.UseOrderedMap()); err != nil {
		return nil, err
	}
	d := assembly{root: unmerged(tree).(object)}
	if err := json.Unmarshal(examples, &d.examples); err != nil {
		return nil, err
	}
	if err := d.addSettings(); err != nil {
		return nil, err
	}
	if err := d.describeErrors(); err != nil {
		return nil, err
	}
	if err := d.completeOperations(); err != nil {
		return nil, err
	}
	d.root = slices.DeleteFunc(d.root, func(m member) bool { return strings.HasPrefix(m.key, "x-") })
	var out bytes.Buffer
	err := writeOrdered(&out, d.root)
	return out.Bytes(), err
}

// object is a JSON object whose keys keep their order.
type object []member

type member struct {
	key   string
	value any
}

// get returns the value of a key, or nil.
func (o object) get(key string) any {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// object returns the object at a key, or nil if the value is not an object.
func (o object) object(key string) object {
	inner, _ := o.get(key).(object)
	return inner
}

// with returns a copy with another value of a key.
func (o object) with(key string, value any) object {
	o = slices.Clone(o)
	for i := range o {
		if o[i].key == key {
			o[i].value = value
			return o
		}
	}
	return append(o, member{key, value})
}

// without returns a copy without a key.
func (o object) without(key string) object {
	return slices.DeleteFunc(slices.Clone(o), func(m member) bool { return m.key == key })
}

// unmerged converts the values of the YAML library to objects. If a merge key repeats a
// key, the value that is written out counts.
func unmerged(node any) any {
	switch node := node.(type) {
	case yaml.MapSlice:
		o := object{}
		for _, item := range node {
			o = o.with(fmt.Sprint(item.Key), unmerged(item.Value))
		}
		return o
	case []any:
		for i := range node {
			node[i] = unmerged(node[i])
		}
	}
	return node
}

// writeOrdered writes a value as JSON.
func writeOrdered(out *bytes.Buffer, node any) error {
	switch node := node.(type) {
	case object:
		out.WriteByte('{')
		for i, m := range node {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := writeOrdered(out, m.key); err != nil {
				return err
			}
			out.WriteByte(':')
			if err := writeOrdered(out, m.value); err != nil {
				return err
			}
		}
		out.WriteByte('}')
		return nil
	case []any:
		out.WriteByte('[')
		for i, one := range node {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := writeOrdered(out, one); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	err := e.Encode(node)
	out.Truncate(out.Len() - 1) // remove the newline
	return err
}

// assembly is a document under construction.
type assembly struct {
	root     object
	examples map[string]Example
}

// describeErrors writes the errors of the shared responses into their descriptions.
func (d *assembly) describeErrors() error {
	components := d.root.object("components")
	responses := components.object("responses")
	for i, m := range responses {
		response := m.value.(object)
		described, err := d.withErrors(response, m.key == "UnexpectedError", names(response.get("x-errors")))
		if err != nil {
			return fmt.Errorf("response %s: %w", m.key, err)
		}
		responses[i].value = described
	}
	return nil
}

// names returns the strings of a list; none if it is nil.
func names(list any) []string {
	items, _ := list.([]any)
	all := make([]string, len(items))
	for i := range items {
		all[i] = fmt.Sprint(items[i])
	}
	return all
}

// withErrors adds a list of errors to the description of a response.
func (d *assembly) withErrors(response object, withStatus bool, errors []string) (object, error) {
	text := fmt.Sprint(response.get("description"))
	for i, name := range errors {
		e := d.root.object("x-errors").object(name)
		if e == nil {
			return nil, fmt.Errorf("x-errors has no %s", name)
		}
		// If the description ends in a list, the list is continued.
		if i == 0 && !strings.Contains(text, "\n- ") {
			text += "\n"
		}
		line := "\n- "
		if withStatus {
			line += fmt.Sprint(e.get("status")) + " "
		}
		line += "`" + fmt.Sprint(e.get("code")) + "`"
		if rs := e.get("rsCode"); rs != nil {
			line += " (`" + fmt.Sprint(rs) + "`)"
		}
		line += ": " + fmt.Sprint(e.get("when")) + " " + fmt.Sprint(e.get("do"))
		if strings.Contains(text, line) {
			return nil, fmt.Errorf("%s is listed twice", name)
		}
		text += line
	}
	return response.without("x-errors").with("description", text), nil
}

// completeOperations adds to each operation its errors and its example.
func (d *assembly) completeOperations() error {
	for _, path := range d.root.object("paths") {
		item := path.value.(object)
		for i, m := range item {
			operation, ok := m.value.(object)
			if !ok {
				continue // parameters
			}
			completed, err := d.complete(operation)
			if err != nil {
				return fmt.Errorf("%s %s: %w", m.key, path.key, err)
			}
			item[i].value = completed
		}
	}
	return nil
}

// complete adds to an operation its errors and its example.
func (d *assembly) complete(operation object) (object, error) {
	responses := operation.object("responses")
	for i, m := range responses {
		var own []string
		for _, name := range names(operation.get("x-errors")) {
			e := d.root.object("x-errors").object(name)
			if e == nil || responses.get(fmt.Sprint(e.get("status"))) == nil {
				return nil, fmt.Errorf("x-errors: %s is unknown, or has a status without a response", name)
			}
			if fmt.Sprint(e.get("status")) == m.key {
				own = append(own, name)
			}
		}
		if len(own) == 0 {
			continue
		}
		// The response now belongs to this operation and is no longer shared.
		described, err := d.withErrors(d.resolved(m.value), false, own)
		if err != nil {
			return nil, err
		}
		responses[i].value = described
	}
	return d.withExample(operation.without("x-errors"))
}

// resolved returns the component to which a reference refers, or node itself.
func (d *assembly) resolved(node any) object {
	o, _ := node.(object)
	ref, ok := o.get("$ref").(string)
	if !ok {
		return o
	}
	o = d.root
	for key := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		o = o.object(key)
	}
	return o
}

// withExample adds the example of an operation: the command, the body of the request and
// the answer.
func (d *assembly) withExample(operation object) (object, error) {
	name, _ := operation.get("operationId").(string)
	e, ok := d.examples[name]
	if !ok {
		return nil, fmt.Errorf("operation %s has no example", name)
	}
	operation = operation.with("x-codeSamples", []any{object{{"lang", "Shell"}, {"label", "curl"}, {"source", e.Curl}}})
	if body := d.resolved(operation.get("requestBody")); body != nil && e.Request != nil {
		operation = operation.with("requestBody", exampled(body, body.object("content")[0].key, e.Request))
	}
	responses := operation.object("responses")
	response := d.resolved(responses.get(e.Status))
	switch {
	case response == nil:
		return nil, fmt.Errorf("the example of %s has the undocumented status %s", name, e.Status)
	case e.Type != "":
		response = exampled(response, e.Type, e.Response)
	case e.Location != "":
		headers := response.object("headers")
		response = response.with("headers", headers.with("Location", headers.object("Location").with("example", e.Location)))
	}
	return operation.with("responses", responses.with(e.Status, response)), nil
}

// exampled returns a request or a response with an example of one media type.
func exampled(message object, kind string, example json.RawMessage) object {
	content := message.object("content")
	return message.with("content", content.with(kind, content.object(kind).with("example", example)))
}
