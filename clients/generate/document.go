package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"kith/core/origin"
)

// object is a JSON object.
type object = map[string]any

// document is the OpenAPI document as the clients need it: without operations and
// answers that they do not handle, and without references to anything but schemas.
type document struct {
	root object
	// tags are the names of the groups of operations, in order.
	tags []string
	// operations are those of the clients, by name, and left the names of those that they do
	// not have.
	operations []operation
	left       []string
}

// operation is a call of the API.
type operation struct {
	// name is the operationId.
	name, method, path string
	// tag is its group, and summary says what it does.
	tag, summary string
	// query lists the names of its query parameters.
	query []string
	// body is true if the call has a body.
	body bool
	// once is true if the header Idempotency-Key makes the call happen at most once.
	once bool
	// keyed is true if the body may have an idempotency key.
	keyed bool
	// repeatable is true if the call has the same result if it is sent twice.
	repeatable bool
	// page is true if scripts of pages may make the call.
	page bool
	// flatLinks lists where the answer has share links in the older form, as names of keys
	// with dots between them, such as users.shareLinks; empty: it is the links.
	flatLinks []string
}

var methods = []string{"get", "put", "post", "delete", "patch"}

// newDocument reduces the document that the service answers.
func newDocument(served []byte) (*document, error) {
	d := &document{}
	if err := json.Unmarshal(served, &d.root); err != nil {
		return nil, err
	}
	withoutExamples(d.root)
	d.dropIgnored()
	paths := d.root["paths"].(object)
	for path, item := range paths {
		for _, method := range methods {
			if o, ok := item.(object)[method].(object); ok {
				parameters := append(list(item.(object)["parameters"]), list(o["parameters"])...)
				for i := range parameters {
					parameters[i] = d.resolved(parameters[i])
				}
				o["parameters"] = parameters
				if !d.reduce(method, path, o) {
					d.left = append(d.left, o["operationId"].(string))
					delete(item.(object), method)
				}
			}
		}
		delete(item.(object), "parameters")
		if len(item.(object)) == 0 {
			delete(paths, path)
		}
	}
	if len(d.operations) == 0 {
		return nil, fmt.Errorf("the document has no operations")
	}
	slices.Sort(d.left)
	slices.SortFunc(d.operations, func(a, b operation) int { return strings.Compare(a.name, b.name) })
	schemas := d.root["components"].(object)["schemas"].(object)
	maps.DeleteFunc(schemas, func(_ string, schema any) bool { return schema.(object)["oneOf"] != nil })
	schemas["Error"].(object)["x-go-name"] = "ErrorBody" // the Go client has an own Error
	d.root["components"] = object{"schemas": schemas}
	delete(d.root, "security")
	for _, tag := range list(d.root["tags"]) {
		d.tags = append(d.tags, tag.(object)["name"].(string))
	}
	delete(d.root, "tags")
	return d, nil
}

func (d *document) write(file string) error {
	text, err := json.MarshalIndent(d.root, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// reduce changes an operation to what clients need, and adds it to the operations. It
// returns false for one that clients do not have: one that answers a redirect or a file,
// or that takes a file, a form, or messages of a pipeline, which have several forms.
func (d *document) reduce(method, path string, o object) bool {
	status, response := d.success(o)
	if response == nil {
		return false
	}
	op := operation{
		name: o["operationId"].(string), method: strings.ToUpper(method), path: path,
		tag: list(o["tags"])[0].(string), summary: o["summary"].(string),
		repeatable: method != "post" || strings.HasSuffix(path, "/accountsync"),
		page:       forPages(path, o),
	}
	if request := d.resolved(o["requestBody"]); request != nil {
		schema := jsonSchema(request)
		if schema == nil || d.resolved(schema)["oneOf"] != nil {
			return false
		}
		if op.body = !d.empty(schema); op.body {
			o["requestBody"] = object{"required": request["required"], "content": object{"application/json": object{"schema": schema}}}
			properties, _ := d.resolved(schema)["properties"].(object)
			_, op.keyed = properties["idempotencyKey"]
		} else {
			delete(o, "requestBody")
		}
	}
	kept := object{"description": response["description"]}
	if schema := jsonSchema(response); schema != nil && !d.empty(schema) {
		kept["content"] = object{"application/json": object{"schema": schema}}
		op.flatLinks = d.flatLinks(schema, "")
	}
	o["responses"] = object{status: kept}
	// extraFields has no effect, and the clients choose the key in the header.
	o["parameters"] = slices.DeleteFunc(o["parameters"].([]any), func(p any) bool {
		name := p.(object)["name"]
		op.once = op.once || name == "Idempotency-Key" && !op.keyed
		return name == "extraFields" || name == "Idempotency-Key"
	})
	op.repeatable = op.repeatable || op.once
	for _, p := range o["parameters"].([]any) {
		if p := p.(object); p["in"] == "query" {
			op.query = append(op.query, p["name"].(string))
		}
	}
	delete(o, "security")
	delete(o, "tags")
	delete(o, "x-codeSamples")
	o["x-keyed"], o["x-once"], o["x-repeatable"] = op.keyed, op.once, op.repeatable
	d.operations = append(d.operations, op)
	return true
}

// success returns the answer of a call that succeeded; nil if it is not JSON or empty.
func (d *document) success(o object) (status string, response object) {
	for status, r := range o["responses"].(object) {
		if r := d.resolved(r); strings.HasPrefix(status, "2") && (r["content"] == nil || jsonSchema(r) != nil) {
			return status, r
		}
	}
	return "", nil
}

// jsonSchema returns the schema of a body that is always JSON, or nil.
func jsonSchema(message object) object {
	content, _ := message["content"].(object)
	for kind := range content {
		if !strings.HasSuffix(kind, "json") {
			return nil
		}
	}
	media, _ := content["application/json"].(object)
	schema, _ := media["schema"].(object)
	return schema
}

// empty reports whether a schema describes a body without content.
func (d *document) empty(schema object) bool {
	return len(schema) == 0 || schema["$ref"] == "#/components/schemas/Nothing"
}

// flatLinksSchema is the schema of share links in the older form.
const flatLinksSchema = "FlatShareLinks"

// flatLinks returns where a message has share links in the older form: see operation.
func (d *document) flatLinks(node any, place string) (places []string) {
	schema, ok := node.(object)
	if !ok {
		return nil
	}
	if schema["$ref"] == "#/components/schemas/"+flatLinksSchema {
		return []string{strings.TrimPrefix(place, ".")}
	}
	schema = d.resolved(schema)
	properties, _ := schema["properties"].(object)
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		places = append(places, d.flatLinks(properties[key], place+"."+key)...)
	}
	for _, part := range append(list(schema["allOf"]), schema["items"]) {
		places = append(places, d.flatLinks(part, place)...)
	}
	return places
}

// addCleanLink adds what @kith/client adds to share links in the older form.
func (d *document) addCleanLink() {
	links := d.root["components"].(object)["schemas"].(object)[flatLinksSchema].(object)
	links["required"] = []any{"cleanShareLink"}
	links["properties"].(object)["cleanShareLink"] = object{"type": "string", "description": "Share link without any medium. The client adds it."}
}

// forPages reports whether scripts of pages may make a call: other origins may, and it
// does not always need the API key.
func forPages(path string, o object) bool {
	_, covered := origin.Covers(strings.ReplaceAll(path, "{tenant}", "shop"))
	security, restricted := o["security"].([]any)
	return covered && restricted && (len(security) == 0 || slices.ContainsFunc(security, func(s any) bool {
		_, key := s.(object)["apiKey"]
		return !key
	}))
}

// dropIgnored removes the keys of schemas that the service accepts and ignores.
func (d *document) dropIgnored() {
	for _, schema := range d.root["components"].(object)["schemas"].(object) {
		properties, _ := schema.(object)["properties"].(object)
		for key, p := range properties {
			if p.(object)["description"] == "Ignored." {
				delete(properties, key)
			}
		}
	}
}

// withoutExamples removes the examples in messages; those of schemas stay.
func withoutExamples(node any) {
	switch node := node.(type) {
	case object:
		if _, message := node["schema"]; message {
			delete(node, "example")
		}
		for _, inner := range node {
			withoutExamples(inner)
		}
	case []any:
		for _, inner := range node {
			withoutExamples(inner)
		}
	}
}

// resolved returns the component to which a reference refers, or node itself; nil if it
// is no object.
func (d *document) resolved(node any) object {
	o, _ := node.(object)
	ref, ok := o["$ref"].(string)
	if !ok {
		return o
	}
	o = d.root
	for key := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		o, _ = o[key].(object)
	}
	return o
}

func list(node any) []any {
	l, _ := node.([]any)
	return slices.Clone(l)
}

// table returns operations.ts: what a client needs to know of the operations at run time.
func table(operations []operation) []byte {
	var out bytes.Buffer
	out.WriteString("// Generated by clients/generate; do not edit.\n\n" +
		"/** Method, path, names of the query parameters, and flags: b has a body, i takes an idempotency key in the body, o in a header, r may be repeated; where the answer has share links in the older form. */\n" +
		"export type Operation = readonly [method: string, path: string, query: string, flags: string, flatLinks?: string];\n")
	group := func(name, comment string, of func(operation) bool) {
		fmt.Fprintf(&out, "\n/** %s */\nexport const %s = {\n", comment, name)
		for _, o := range operations {
			if of(o) {
				fmt.Fprintf(&out, "  %s: ['%s', '%s', '%s', '%s'", o.name, o.method, o.path, strings.Join(o.query, " "), o.flags())
				if len(o.flatLinks) > 0 {
					fmt.Fprintf(&out, ", '%s'", strings.Join(o.flatLinks, " "))
				}
				out.WriteString("],\n")
			}
		}
		out.WriteString("} as const satisfies Record<string, Operation>;\n")
	}
	group("forPages", "What a page may call.", func(o operation) bool { return o.page })
	group("forServers", "What only a server may call.", func(o operation) bool { return !o.page })
	return out.Bytes()
}

// flags returns the flags of an operation in the table.
func (o operation) flags() (flags string) {
	for _, f := range []struct {
		set  bool
		flag string
	}{{o.body, "b"}, {o.keyed, "i"}, {o.once, "o"}, {o.repeatable, "r"}} {
		if f.set {
			flags += f.flag
		}
	}
	return flags
}
