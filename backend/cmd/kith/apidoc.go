package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tidwall/gjson"

	"kith/backend/api"
	"kith/core"
)

// apiCall is an operation of the API as the OpenAPI document describes it.
type apiCall struct {
	document, operation gjson.Result
	// shared are the parameters of all methods of the path.
	shared       gjson.Result
	method, path string
}

// tenantPath begins the paths of a tenant.
const tenantPath = "/api/v1/{tenant}"

var apiMethods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete}

// apiCalls returns the operations of a method, in the order of the document.
func apiCalls(document []byte, method string) (all []apiCall) {
	whole := gjson.ParseBytes(document)
	whole.Get("paths").ForEach(func(path, methods gjson.Result) bool {
		operation := methods.Get(strings.ToLower(method))
		if short, ok := strings.CutPrefix(path.String(), tenantPath); ok && strings.HasPrefix(short, "/") && operation.Exists() {
			all = append(all, apiCall{whole, operation, methods.Get("parameters"), method, short})
		}
		return true
	})
	return all
}

// findCall returns the operation of a path, in which ids may stand for {NAME}.
func findCall(document []byte, method, path string) (found apiCall, ok bool) {
	path, _, _ = strings.Cut(path, "?")
	want := strings.Split(path, "/")
	for _, call := range apiCalls(document, method) {
		has, literal := strings.Split(call.path, "/"), true
		if !slices.EqualFunc(has, want, func(has, want string) bool {
			literal = literal && has == want
			return has == want || strings.HasPrefix(has, "{") && want != ""
		}) {
			continue
		}
		if found, ok = call, true; literal {
			return call, true
		}
	}
	return found, ok
}

// deref follows references.
func (c apiCall) deref(schema gjson.Result) gjson.Result {
	if inner := schema.Get("allOf.0"); inner.Exists() {
		schema = inner
	}
	if to, ok := strings.CutPrefix(schema.Get("$ref").String(), "#/"); ok {
		return c.deref(c.document.Get(strings.ReplaceAll(to, "/", ".")))
	}
	return schema
}

// parameters returns the parameters of the query, by name, with what they are.
func (c apiCall) parameters() map[string]string {
	all := map[string]string{}
	for _, p := range append(c.shared.Array(), c.operation.Get("parameters").Array()...) {
		if p = c.deref(p); p.Get("in").String() == "query" {
			all[p.Get("name").String()] = p.Get("description").String()
		}
	}
	return all
}

// schema returns that of the JSON body; it does not exist if the call takes none.
func (c apiCall) schema() gjson.Result {
	return c.deref(c.deref(c.operation.Get("requestBody")).Get("content.application/json.schema"))
}

// check returns an error about a parameter or a body that the call has not, which a server
// ignores, and about a body that is missing, or is a file.
func (c apiCall) check(query url.Values, body []byte) error {
	known := c.parameters()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if _, ok := known[name]; !ok {
			return core.Invalid(name, "is no parameter of "+c.method+" "+c.path+"; it has: "+cmp.Or(strings.Join(slices.Sorted(maps.Keys(known)), ", "), "none"))
		}
	}
	takes := c.deref(c.operation.Get("requestBody"))
	switch {
	case takes.Get("required").Bool() && body == nil:
		return core.Invalid("field", "give the body as fields NAME=VALUE or by --input FILE; add --describe to see its values")
	case !takes.Exists() && body != nil:
		return core.Invalid("field", c.method+" "+c.path+" takes no body")
	case takes.Exists() && !c.schema().Exists():
		return core.Invalid("field", "this call takes a file: kith import uploads and imports one")
	}
	return nil
}

// print prints what the call does and takes.
func (c apiCall) print(out io.Writer) error {
	fmt.Fprintf(out, "%s %s: %s\n\n%s\n", c.method, c.path, c.operation.Get("summary").String(), c.operation.Get("description").String())
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	parameters := c.parameters()
	if len(parameters) > 0 {
		fmt.Fprintln(w, "\nParameters:")
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		fmt.Fprintf(w, "  %s\t%s\n", name, parameters[name])
	}
	if schema := c.schema(); schema.Exists() {
		fmt.Fprintln(w, "\nValues of the body:")
		c.values(w, "", schema)
	}
	return w.Flush()
}

// values prints the values of an object in lines. at begins their names.
func (c apiCall) values(w io.Writer, at string, schema gjson.Result) {
	schema.Get("properties").ForEach(func(name, value gjson.Result) bool {
		path, inner := at+name.String(), c.deref(value)
		if items := inner.Get("items"); items.Exists() {
			path += "[]"
			inner = c.deref(items)
		}
		fmt.Fprintf(w, "  %s\t%s\n", path, cmp.Or(value.Get("description").String(), inner.Get("description").String()))
		if strings.Count(path, ".") < 3 {
			c.values(w, path+".", inner)
		}
		return true
	})
}

// listCalls prints the paths of a method, with what each does.
func listCalls(out io.Writer, document []byte, method string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, call := range apiCalls(document, method) {
		fmt.Fprintf(w, "%s\t%s\n", call.path, call.operation.Get("summary").String())
	}
	return w.Flush()
}

// apiWords returns what may follow kith api, for completions: the methods, and the paths of
// each.
func apiWords() (map[string][]string, error) {
	document, err := api.OpenAPI()
	words := map[string][]string{"api": apiMethods}
	for _, method := range apiMethods {
		for _, call := range apiCalls(document, method) {
			words["api "+method] = append(words["api "+method], call.path)
		}
	}
	return words, err
}
