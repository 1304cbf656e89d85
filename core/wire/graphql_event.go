package wire

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"kith/core/event"
)

// GraphQLEvents is a GraphQL call that logs events of one user in the plain
// form, which needs no schema to be understood: one mutation with one field,
// logUserEvent or logUserEvents of one input; the input whole in one variable,
// whose values have their types as they are, without coercion; and a selection of
// the result's ids and dates, each under a name of its own. All other calls, among
// them every one that would be refused, are not plain.
//
//	mutation log($input: UserEventInput!) {
//	  logUserEvent(userEventInput: $input) { events { id } }
//	}
type GraphQLEvents struct {
	// Batch still lacks its ids and its time; see event.Batch.Stamp.
	Batch event.Batch
	// list is true for logUserEvents, whose result is one of a list.
	list bool
	// alias is the field's name in the answer, which stands at an offset of the
	// document.
	alias    string
	document string
	offset   int
	// result and event are what is asked of the result and of its events.
	result, event []plainField
}

// plainField is a field without arguments.
type plainField struct{ alias, name string }

// maxPlain bounds the fields of one plain selection; there are 8 to choose from.
const maxPlain = 16

// ParseGraphQLEvents reads the body of a GraphQL call; ok is false when the call
// is not plain.
func ParseGraphQLEvents(body []byte) (p GraphQLEvents, ok bool) {
	// Most calls are something else, and need not be read for that.
	if !bytes.Contains(body, []byte("logUserEvent")) ||
		len(body) > MaxBody || !utf8.Valid(body) || tooDeep(body) || !gjson.ValidBytes(body) {
		return p, false
	}
	call, ok := members(gjson.ParseBytes(body), "query", "operationName", "variables")
	if !ok || call[0].Type != gjson.String || call[1].Type != gjson.String && call[1].Type != gjson.Null {
		return p, false
	}
	d := plainReader{text: call[0].String()}
	variable, ok := d.mutation(&p, call[1].String())
	if !ok {
		return p, false
	}
	input, ok := members(call[2], variable)
	if !ok {
		return p, false
	}
	if p.list {
		if input[0], ok = onlyElement(input[0]); !ok {
			return p, false
		}
	}
	if !idsAreTexts(input[0].Get("events")) {
		return p, false
	}
	var err error
	p.Batch, err = ParseUserEvents([]byte(input[0].Raw))
	return p, err == nil
}

// idsAreTexts reports whether the ids of events, which ParseUserEvents passes over,
// are of their type: an ID is a text here, and what else may be one is the
// backend's to say.
func idsAreTexts(events gjson.Result) (ok bool) {
	ok = true
	events.ForEach(func(_, e gjson.Result) bool {
		id := e.Get("id")
		ok = id.Type == gjson.String || id.Type == gjson.Null
		return ok
	})
	return ok
}

// members returns the values of an object's keys; ok is false when it has
// another key, or one of them twice.
func members(object gjson.Result, keys ...string) (values []gjson.Result, ok bool) {
	values, ok = make([]gjson.Result, len(keys)), object.IsObject()
	object.ForEach(func(key, v gjson.Result) bool {
		i := slices.Index(keys, key.String())
		ok = ok && i >= 0 && !values[i].Exists()
		if ok {
			values[i] = v
		}
		return ok
	})
	return values, ok
}

func onlyElement(array gjson.Result) (value gjson.Result, ok bool) {
	count := 0
	array.ForEach(func(_, v gjson.Result) bool {
		count++
		value = v
		return count < 2
	})
	return value, array.IsArray() && count == 1
}

// plainReader reads a document of the plain form. What it does not know it does
// not take: no comment, no string, no directive, no fragment.
type plainReader struct {
	text string
	next int
}

func (d *plainReader) skip() {
	for d.next < len(d.text) {
		switch d.text[d.next] {
		case ' ', '\n', '\t', '\r', ',':
			d.next++
		default:
			return
		}
	}
}

// sign moves behind a sign, if it is what comes next.
func (d *plainReader) sign(c byte) bool {
	d.skip()
	if d.next == len(d.text) || d.text[d.next] != c {
		return false
	}
	d.next++
	return true
}

// name moves behind a name and returns it, or returns "" when something else
// comes next.
func (d *plainReader) name() string {
	d.skip()
	start := d.next
	for d.next < len(d.text) && (letter(d.text[d.next]) || d.next > start && '0' <= d.text[d.next] && d.text[d.next] <= '9') {
		d.next++
	}
	return d.text[start:d.next]
}

// place is where a byte of a document stands. Before it are only characters of
// one byte.
func place(text string, offset int) Position {
	at := Position{1, 1}
	for i := range offset {
		switch {
		case text[i] == '\n' && i > 0 && text[i-1] == '\r':
		case text[i] == '\n' || text[i] == '\r':
			at = Position{at.Line + 1, 1}
		default:
			at.Column++
		}
	}
	return at
}

func letter(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (d *plainReader) word(want string) bool { return d.name() == want }

// mutation reads the whole document and returns the name of its variable.
func (d *plainReader) mutation(p *GraphQLEvents, operation string) (variable string, ok bool) {
	if !d.word("mutation") {
		return "", false
	}
	// A call may name the operation that it runs, and need not.
	if name := d.name(); operation != "" && name != operation {
		return "", false
	}
	if !d.sign('(') || !d.sign('$') {
		return "", false
	}
	variable = d.name()
	if variable == "" || !d.sign(':') {
		return "", false
	}
	p.list = d.sign('[')
	if !d.word("UserEventInput") || !d.sign('!') || p.list && (!d.sign(']') || !d.sign('!')) {
		return "", false
	}
	ok = d.sign(')') && d.sign('{') && d.field(p, variable) && d.sign('}')
	d.skip()
	return variable, ok && d.next == len(d.text)
}

// field reads the one field of the mutation.
func (d *plainReader) field(p *GraphQLEvents, variable string) bool {
	d.skip()
	p.document, p.offset = d.text, d.next
	field, ok := d.aliased()
	name, argument := "logUserEvent", "userEventInput"
	if p.list {
		name, argument = "logUserEvents", "userEventInputs"
	}
	p.alias = field.alias
	if !ok || field.name != name || !d.sign('(') || !d.word(argument) || !d.sign(':') || !d.sign('$') || !d.word(variable) || !d.sign(')') {
		return false
	}
	p.result, ok = d.selection(func(name string) bool {
		switch name {
		case "__typename", "userId", "accountId":
			return true
		case "events":
			// A second one would have to be merged with the first.
			if p.event != nil {
				return false
			}
			var ok bool
			p.event, ok = d.selection(eventField)
			return ok
		}
		return false
	})
	return ok
}

func eventField(name string) bool {
	switch name {
	case "__typename", "id", "userId", "accountId", "key", "dateTriggered", "dateReceived", "dateProcessed":
		return true
	}
	return false
}

func (d *plainReader) aliased() (f plainField, ok bool) {
	f.alias = d.name()
	f.name = f.alias
	if d.sign(':') {
		f.name = d.name()
	}
	return f, f.alias != "" && f.name != ""
}

// selection reads fields between braces, each of them one that is known and has
// a name of its own in the answer.
func (d *plainReader) selection(known func(name string) bool) (all []plainField, ok bool) {
	if !d.sign('{') {
		return nil, false
	}
	for !d.sign('}') {
		f, ok := d.aliased()
		if !ok || len(all) == maxPlain || !known(f.name) {
			return nil, false
		}
		for _, other := range all {
			if other.alias == f.alias {
				return nil, false
			}
		}
		all = append(all, f)
	}
	return all, len(all) > 0
}

// Answer writes the answer to a call whose events were taken in.
func (p GraphQLEvents) Answer() (status int, body []byte) {
	w := writer{}
	w.open()
	w.key(p.alias)
	if p.list {
		w.b = append(w.b, '[')
	}
	w.open()
	for _, f := range p.result {
		p.resultField(&w, f)
	}
	w.close()
	if p.list {
		w.b = append(w.b, ']')
	}
	w.close()
	return GraphQLAnswer(string(w.b), true, nil)
}

func (p GraphQLEvents) resultField(w *writer, f plainField) {
	switch f.name {
	case "__typename":
		w.text(f.alias, "UserEventResult")
	case "userId":
		w.text(f.alias, string(p.Batch.User))
	case "accountId":
		w.text(f.alias, string(p.Batch.Account))
	case "events":
		w.key(f.alias)
		w.b = list(w.b, len(p.Batch.Events), func(b []byte, i int) []byte {
			w := writer{b: b}
			w.open()
			for _, f := range p.event {
				p.eventField(&w, f, p.Batch.Events[i])
			}
			w.close()
			return w.b
		})
	}
}

func (p GraphQLEvents) eventField(w *writer, f plainField, e event.Event) {
	switch f.name {
	case "__typename":
		w.text(f.alias, "UserEventData")
	case "id":
		w.text(f.alias, e.ID)
	case "userId":
		w.text(f.alias, string(p.Batch.User))
	case "accountId":
		w.text(f.alias, string(p.Batch.Account))
	case "key":
		w.text(f.alias, e.Key)
	case "dateTriggered":
		w.date(f.alias, e.Triggered)
	case "dateReceived":
		w.date(f.alias, p.Batch.Received)
	case "dateProcessed":
		w.raw(f.alias, "null")
	}
}

// Refused writes the answer to a call whose events were not taken in.
func (p GraphQLEvents) Refused(err error) (status int, body []byte) {
	w := writer{}
	w.open()
	w.raw(p.alias, "null")
	w.close()
	path := append(appendString([]byte{'['}, p.alias), ']')
	return GraphQLAnswer(string(w.b), false, []GraphQLError{{
		Err: err, At: []Position{place(p.document, p.offset)}, Path: string(path), Kind: GraphQLFetching,
	}})
}
