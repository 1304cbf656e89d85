package wire

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"kith/core/event"
)

// GraphQLEvents is a GraphQL call that logs events of one user in the plain form,
// which can be executed without a schema. A plain call is one mutation with one
// field, logUserEvent, or logUserEvents with one input. The whole input is in one
// variable, whose values need no coercion. The selection has only ids and dates of
// the result, each with a distinct response name. All other calls, including all
// invalid ones, are not plain.
//
//	mutation log($input: UserEventInput!) {
//	  logUserEvent(userEventInput: $input) { events { id } }
//	}
type GraphQLEvents struct {
	// Call has no event ids and no time of receipt; see event.Call.Stamp.
	Call event.Call
	// list is true for logUserEvents, whose result is a list.
	list bool
	// alias is the field's response name. The field is at offset in document.
	alias    string
	document string
	offset   int
	// result and event are the selected fields of the result and of its events.
	result, event []plainField
}

// plainField is a field without arguments.
type plainField struct{ alias, name string }

// maxPlain is the most fields of one plain selection. There are 8 different ones.
const maxPlain = 16

// ParseGraphQLEvents parses the body of a GraphQL call; ok is false if the call is
// not plain.
func ParseGraphQLEvents(body []byte) (p GraphQLEvents, ok bool) {
	// Most other calls are recognized without parsing them.
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
	if !idsAreTexts(member(input[0], "events")) {
		return p, false
	}
	var err error
	p.Call, err = ParseUserEvents([]byte(input[0].Raw))
	return p, err == nil
}

// idsAreTexts reports whether the ids of events, which ParseUserEvents ignores, are
// strings or null. The backend decides about other values.
func idsAreTexts(events gjson.Result) (ok bool) {
	ok = true
	events.ForEach(func(_, e gjson.Result) bool {
		id := member(e, "id")
		ok = id.Type == gjson.String || id.Type == gjson.Null
		return ok
	})
	return ok
}

// members returns the values of an object's keys; ok is false if it has other keys or
// duplicates.
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

// plainReader parses a document of the plain form. It refuses everything else, such
// as comments, strings, directives and fragments.
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

// sign consumes the character c if it is next, and reports whether it was.
func (d *plainReader) sign(c byte) bool {
	d.skip()
	if d.next == len(d.text) || d.text[d.next] != c {
		return false
	}
	d.next++
	return true
}

// name consumes a name and returns it, or returns "" if no name is next.
func (d *plainReader) name() string {
	d.skip()
	start := d.next
	for d.next < len(d.text) && (letter(d.text[d.next]) || d.next > start && '0' <= d.text[d.next] && d.text[d.next] <= '9') {
		d.next++
	}
	return d.text[start:d.next]
}

// place returns the position of a byte in a document. All characters before it must
// be ASCII.
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

// mutation parses the whole document and returns the name of its variable.
func (d *plainReader) mutation(p *GraphQLEvents, operation string) (variable string, ok bool) {
	if !d.word("mutation") {
		return "", false
	}
	// operationName is optional.
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

// field parses the field of the mutation.
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
			// Two selections of events would have to be merged.
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

// selection parses fields in braces. Each must be known and have a distinct response
// name.
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

// Answer returns the response to a call whose events were stored.
func (p GraphQLEvents) Answer() (status int, body []byte) {
	w := begin(nil)
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
	return GraphQLAnswer(string(w.end()), true, nil)
}

func (p GraphQLEvents) resultField(w *writer, f plainField) {
	switch f.name {
	case "__typename":
		w.text(f.alias, "UserEventResult")
	case "userId":
		w.text(f.alias, string(p.Call.User))
	case "accountId":
		w.text(f.alias, string(p.Call.Account))
	case "events":
		w.list(f.alias, len(p.Call.Events), func(b []byte, i int) []byte {
			w := begin(b)
			for _, f := range p.event {
				p.eventField(&w, f, p.Call.Events[i])
			}
			return w.end()
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
		w.text(f.alias, string(p.Call.User))
	case "accountId":
		w.text(f.alias, string(p.Call.Account))
	case "key":
		w.text(f.alias, e.Key)
	case "dateTriggered":
		w.date(f.alias, e.Triggered)
	case "dateReceived":
		w.date(f.alias, p.Call.Received)
	case "dateProcessed":
		w.raw(f.alias, "null")
	}
}

// Refused returns the response to a call whose events were refused with an error.
func (p GraphQLEvents) Refused(err error) (status int, body []byte) {
	w := begin(nil)
	w.raw(p.alias, "null")
	path := append(appendString([]byte{'['}, p.alias), ']')
	return GraphQLAnswer(string(w.end()), false, []GraphQLError{{
		Err: err, At: []Position{place(p.document, p.offset)}, Path: string(path), Kind: GraphQLFetching,
	}})
}
