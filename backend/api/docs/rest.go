package docs

import (
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// restPage is what the page of the REST API shows.
type restPage struct {
	Intro       string
	Credentials []described
	Groups      []*group
	Schemas     []schema
}

type described struct{ Name, Text string }

// group is the operations of one tag.
type group struct {
	Name, Text string
	Operations []operation
}

type operation struct {
	ID, Method, Path, Summary, Text string
	// Credentials states in words which credentials the operation needs.
	Credentials string
	Parameters  []property
	Curl        string
	Request     *body
	Answers     []answer
	Errors      []failure
}

// body is what is sent or answered.
type body struct {
	Type    string
	Schema  []word
	Example string
}

type answer struct {
	Status, Text string
	Bodies       []body
}

// failure is an error that an operation answers.
type failure struct{ Status, Code, RS, Text string }

// schema is a named form of JSON.
type schema struct {
	Name, Text string
	Form       []word
	Properties []property
}

// property is a key of an object, or a parameter.
type property struct {
	Name, In, Text string
	Required       bool
	Form           []word
}

// word is a part of the name of a form, which may be the name of a schema.
type word struct {
	Text string
	Link bool
}

// REST renders an OpenAPI 3.0 document.
func REST(document []byte) ([]byte, error) {
	root := gjson.ParseBytes(document)
	r := reader{root}
	p := restPage{Intro: root.Get("info.description").String()}
	root.Get("components.securitySchemes").ForEach(func(name, s gjson.Result) bool {
		p.Credentials = append(p.Credentials, described{name.String(), s.Get("description").String()})
		return true
	})
	byTag := map[string]*group{}
	for _, tag := range root.Get("tags").Array() {
		g := &group{Name: tag.Get("name").String(), Text: tag.Get("description").String()}
		p.Groups, byTag[g.Name] = append(p.Groups, g), g
	}
	root.Get("paths").ForEach(func(path, item gjson.Result) bool {
		item.ForEach(func(method, o gjson.Result) bool {
			if g := byTag[o.Get("tags.0").String()]; g != nil {
				g.Operations = append(g.Operations, r.operation(path.String(), method.String(), item, o))
			}
			return true
		})
		return true
	})
	root.Get("components.schemas").ForEach(func(name, s gjson.Result) bool {
		p.Schemas = append(p.Schemas, schema{name.String(), s.Get("description").String(), r.form(s), r.properties(s)})
		return true
	})
	return render("rest", p)
}

// reader reads parts of a document.
type reader struct{ root gjson.Result }

// resolved is what a reference refers to, or node itself.
func (r reader) resolved(node gjson.Result) gjson.Result {
	if ref := node.Get("$ref").String(); ref != "" {
		return r.root.Get(strings.ReplaceAll(strings.TrimPrefix(ref, "#/"), "/", "."))
	}
	return node
}

func (r reader) operation(path, method string, item, o gjson.Result) operation {
	op := operation{
		ID: o.Get("operationId").String(), Method: strings.ToUpper(method), Path: path,
		Summary: o.Get("summary").String(), Text: o.Get("description").String(),
		Credentials: r.credentials(o), Curl: o.Get("x-codeSamples.0.source").String(),
	}
	for _, p := range append(item.Get("parameters").Array(), o.Get("parameters").Array()...) {
		p = r.resolved(p)
		text := p.Get("description").String()
		if text == "" {
			text = r.resolved(p.Get("schema")).Get("description").String()
		}
		op.Parameters = append(op.Parameters, property{
			p.Get("name").String(), p.Get("in").String(), text, p.Get("required").Bool(), r.form(p.Get("schema")),
		})
	}
	if bodies := r.bodies(r.resolved(o.Get("requestBody"))); len(bodies) > 0 {
		op.Request = &bodies[0]
	}
	o.Get("responses").ForEach(func(status, response gjson.Result) bool {
		response = r.resolved(response)
		text := response.Get("description").String()
		if status.String() < "4" {
			a := answer{status.String(), text, r.bodies(response)}
			if at := response.Get("headers.Location.example").String(); at != "" {
				a.Bodies = []body{{Type: "Location", Example: at}}
			}
			op.Answers = append(op.Answers, a)
			return true
		}
		op.Errors = append(op.Errors, failures(status.String(), text)...)
		return true
	})
	return op
}

// credentials states in words which credentials an operation needs.
func (r reader) credentials(o gjson.Result) string {
	security := o.Get("security")
	if !security.Exists() {
		security = r.root.Get("security")
	}
	names := map[string]string{"apiKey": "the API key", "userToken": "the user's token"}
	var all []string
	for _, one := range security.Array() {
		who := "none, if the tenant's secure mode is open"
		one.ForEach(func(name, _ gjson.Result) bool {
			who = names[name.String()]
			return true
		})
		all = append(all, who)
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", or ")
}

func (r reader) bodies(message gjson.Result) (all []body) {
	message.Get("content").ForEach(func(kind, content gjson.Result) bool {
		b := body{Type: kind.String(), Schema: r.form(content.Get("schema"))}
		if example := content.Get("example"); example.Type == gjson.String {
			b.Example = example.String()
		} else {
			b.Example = example.Raw
		}
		all = append(all, b)
		return true
	})
	return all
}

// failureLine is a line of the list of errors in a description.
var failureLine = regexp.MustCompile("(?m)^- (?:([0-9]{3}) )?`([A-Z_]+)`(?: \\(`(RS[0-9]{3})`\\))?: (.+)$")

// failures are the errors that the description of a response lists.
func failures(status, text string) (all []failure) {
	for _, m := range failureLine.FindAllStringSubmatch(text, -1) {
		if m[1] == "" {
			m[1] = status
		}
		all = append(all, failure{m[1], m[2], m[3], m[4]})
	}
	return all
}

func (r reader) properties(s gjson.Result) (all []property) {
	required := map[string]bool{}
	for _, name := range s.Get("required").Array() {
		required[name.String()] = true
	}
	s.Get("properties").ForEach(func(name, p gjson.Result) bool {
		text := p.Get("description").String()
		if ref := p.Get("$ref"); ref.Exists() {
			text = r.resolved(p).Get("description").String()
			text, _, _ = strings.Cut(text, "\n")
		}
		all = append(all, property{name.String(), "", text, required[name.String()], r.form(p)})
		return true
	})
	return all
}

// form says in words which JSON a schema permits.
func (r reader) form(s gjson.Result) []word {
	var words []word
	switch {
	case s.Get("$ref").Exists():
		name := s.Get("$ref").String()
		return []word{{name[strings.LastIndex(name, "/")+1:], true}}
	case s.Get("allOf").Exists():
		words = r.form(s.Get("allOf.0"))
	case s.Get("type").String() == "array":
		words = append([]word{{"array of ", false}}, r.form(s.Get("items"))...)
	case s.Get("enum").Exists():
		var values []string
		for _, v := range s.Get("enum").Array() {
			values = append(values, v.String())
		}
		words = []word{{strings.Join(values, " | "), false}}
	case s.Get("type").String() == "object" && s.Get("additionalProperties.type").Exists():
		words = append([]word{{"object of ", false}}, r.form(s.Get("additionalProperties"))...)
	case s.Get("type").Exists():
		words = []word{{s.Get("type").String() + bounds(s), false}}
	default:
		words = []word{{"any", false}}
	}
	if s.Get("nullable").Bool() {
		words = append(words, word{" or null", false})
	}
	return words
}

// bounds says which lengths or values a schema permits.
func bounds(s gjson.Result) string {
	least, most, unit := s.Get("minimum"), s.Get("maximum"), ""
	if s.Get("type").String() == "string" {
		least, most, unit = s.Get("minLength"), s.Get("maxLength"), " characters"
	}
	text := ""
	switch {
	case least.Exists() && most.Exists():
		text = least.Raw + " to " + most.Raw + unit
	case most.Exists():
		text = "at most " + most.Raw + unit
	case least.Exists():
		text = "at least " + least.Raw + unit
	}
	if d := s.Get("default"); d.Exists() {
		if text != "" {
			text += "; "
		}
		text += "default " + d.String()
	}
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}
