package graphql

import (
	"strconv"
	"strings"

	"kith/core"
	"kith/core/wire"
)

// document is what a query text says, as far as its bounds depend on it. What
// it means is the executor's to say, which reads the same tokens.
type document struct {
	tokens     []token
	operations []operation
	fragments  map[string]*fragment
	// fields is how many fields it has, as it is written.
	fields int
	// names is how many response names it has for a field, by its name in lower case.
	names map[string]int
	// meanings is how often each response name stands for which field, with which
	// arguments.
	meanings map[string]map[string]int
}

// bounded refuses a document of which validation would have too much to say. The
// operations that a call does not run are validated as well.
func (d *document) bounded(most bounds) error {
	if d.fields > most.fields {
		return core.Invalid("query", "must not ask for more than "+strconv.Itoa(most.fields)+" fields")
	}
	conflicts := 0
	for _, meanings := range d.meanings {
		all := 0
		for _, times := range meanings {
			conflicts += times * all
			all += times
		}
	}
	if conflicts > maxConflicts {
		return core.Invalid("query", "must not use the same names for different fields, or with different arguments, in more than "+
			strconv.Itoa(maxConflicts)+" pairs of fields: use another alias for each")
	}
	return nil
}

// note counts a field.
func (d *document) note(s selection, arguments string) {
	d.fields++
	meanings := d.meanings[s.alias]
	if meanings == nil {
		meanings = map[string]int{}
		d.meanings[s.alias] = meanings
	}
	meaning := s.name + arguments
	if meanings[meaning]++; meanings[meaning] > 1 {
		return
	}
	// One response name counts once for a field, whatever it is given.
	for other := range meanings {
		if other != meaning && (other == s.name || strings.HasPrefix(other, s.name+"(")) {
			return
		}
	}
	d.names[strings.ToLower(s.name)]++
}

type operation struct {
	name, kind string
	// defaults are those of the variables, as they are written.
	defaults   map[string]string
	selections []selection
}

type fragment struct {
	on         string
	selections []selection
}

// selection is a field, or a fragment by its name or in place.
type selection struct {
	at wire.Position
	// name is a field's, alias its name in the answer; both are empty for a
	// fragment.
	name, alias string
	// limit is what the argument of that name is set to, as it is written.
	limit string
	// spread names a fragment, on the type of one in place, if it says one.
	spread, on string
	children   []selection
}

// text is the document as the executor reads it: one token on each line, so
// that a line which it names is the number of a token.
func (d *document) text() string {
	var b strings.Builder
	for _, t := range d.tokens {
		b.WriteString(t.text)
		b.WriteByte('\n')
	}
	return b.String()
}

// place is where a line of the executor's text stands in what was sent.
func (d *document) place(line int) (wire.Position, bool) {
	if line < 1 || line > len(d.tokens) {
		return wire.Position{}, false
	}
	return d.tokens[line-1].at, true
}

// parser reads a document from its tokens.
type parser struct {
	document
	next    int
	nesting int
}

// parse reads a document.
func parse(text string, most bounds) (*document, error) {
	if len(text) > most.query {
		return nil, wire.TooLarge(most.query)
	}
	tokens, err := tokenize(text, most.tokens)
	if err != nil {
		return nil, err
	}
	p := &parser{document: document{tokens: tokens, fragments: map[string]*fragment{}, names: map[string]int{}, meanings: map[string]map[string]int{}}}
	for p.next < len(p.tokens) {
		if err := p.definition(); err != nil {
			return nil, err
		}
	}
	return &p.document, nil
}

func (p *parser) peek() string {
	if p.next == len(p.tokens) {
		return ""
	}
	return p.tokens[p.next].text
}

func (p *parser) at() wire.Position {
	if len(p.tokens) == 0 {
		return wire.Position{Line: 1, Column: 1}
	}
	return p.tokens[min(p.next, len(p.tokens)-1)].at
}

// found moves behind a sign, if it is the next token.
func (p *parser) found(sign string) bool {
	if p.peek() != sign {
		return false
	}
	p.next++
	return true
}

func (p *parser) need(sign string) error {
	if !p.found(sign) {
		return p.expected(sign)
	}
	return nil
}

func (p *parser) expected(what string) error {
	found := "the end"
	if p.next < len(p.tokens) {
		found = p.peek()
	}
	return p.fault("expected " + what + " and found " + short(found))
}

func (p *parser) fault(message string) error { return &syntaxError{p.at(), message} }

// short keeps a message short, whatever was sent.
func short(s string) string {
	const shown = 64
	if len(s) > shown {
		s = strings.ToValidUTF8(s[:shown], "") + "…"
	}
	return s
}

func (p *parser) named(what string) (string, error) {
	name := p.peek()
	if name == "" || !nameStart(name[0]) {
		return "", p.expected(what)
	}
	p.next++
	return name, nil
}

// inside calls read until the closing sign, one level deeper.
func (p *parser) inside(opening, closing string, read func() error) error {
	if err := p.need(opening); err != nil {
		return err
	}
	if p.nesting++; p.nesting > maxNesting {
		return p.fault("is nested too deeply")
	}
	for !p.found(closing) {
		if p.next == len(p.tokens) {
			return p.expected(closing)
		}
		if err := read(); err != nil {
			return err
		}
	}
	p.nesting--
	return nil
}

func (p *parser) definition() error {
	if p.peek() == "{" {
		selections, err := p.selectionSet()
		p.operations = append(p.operations, operation{kind: "query", selections: selections})
		return err
	}
	switch kind := p.peek(); kind {
	case "query", "mutation":
		p.next++
		return p.operation(kind)
	case "fragment":
		p.next++
		return p.fragment()
	}
	return p.expected("query, mutation or fragment")
}

func (p *parser) operation(kind string) (err error) {
	op := operation{kind: kind, defaults: map[string]string{}}
	if peek := p.peek(); peek != "" && nameStart(peek[0]) {
		op.name, _ = p.named("a name")
	}
	if p.peek() == "(" {
		if err := p.inside("(", ")", func() error { return p.variable(op.defaults) }); err != nil {
			return err
		}
	}
	if err := p.directives(); err != nil {
		return err
	}
	op.selections, err = p.selectionSet()
	p.operations = append(p.operations, op)
	return err
}

func (p *parser) variable(defaults map[string]string) error {
	if err := p.need("$"); err != nil {
		return err
	}
	name, err := p.named("the name of a variable")
	if err != nil {
		return err
	}
	if err := p.need(":"); err != nil {
		return err
	}
	if err := p.variableType(); err != nil {
		return err
	}
	if p.found("=") {
		defaults[name] = p.peek()
		if err := p.value(); err != nil {
			return err
		}
	}
	return p.directives()
}

func (p *parser) variableType() error {
	depth := 0
	for p.found("[") {
		if depth++; depth > maxNesting {
			return p.fault("is nested too deeply")
		}
	}
	if _, err := p.named("a type"); err != nil {
		return err
	}
	p.found("!")
	for range depth {
		if err := p.need("]"); err != nil {
			return err
		}
		p.found("!")
	}
	return nil
}

func (p *parser) fragment() error {
	name, err := p.named("the name of a fragment")
	if err != nil {
		return err
	}
	if p.fragments[name] != nil {
		return p.fault("there are two fragments " + short(name))
	}
	if err := p.need("on"); err != nil {
		return err
	}
	f := &fragment{}
	if f.on, err = p.named("a type"); err != nil {
		return err
	}
	if err := p.directives(); err != nil {
		return err
	}
	f.selections, err = p.selectionSet()
	p.fragments[name] = f
	return err
}

func (p *parser) selectionSet() (all []selection, err error) {
	err = p.inside("{", "}", func() error {
		s, err := p.selection()
		all = append(all, s)
		return err
	})
	return all, err
}

func (p *parser) selection() (s selection, err error) {
	s.at = p.at()
	if p.found("...") {
		return p.spread(s)
	}
	if s.name, err = p.named("a field"); err != nil {
		return s, err
	}
	s.alias = s.name
	if p.found(":") {
		if s.name, err = p.named("a field"); err != nil {
			return s, err
		}
	}
	from := p.next
	if p.peek() == "(" {
		if s.limit, err = p.arguments(); err != nil {
			return s, err
		}
	}
	p.note(s, textOf(p.tokens[from:p.next]))
	if err := p.directives(); err != nil || p.peek() != "{" {
		return s, err
	}
	s.children, err = p.selectionSet()
	return s, err
}

// textOf is what tokens say.
func textOf(tokens []token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(t.text)
		b.WriteByte(' ')
	}
	return b.String()
}

func (p *parser) spread(s selection) (selection, error) {
	if name := p.peek(); name != "" && nameStart(name[0]) && name != "on" {
		p.next++
		s.spread = name
		return s, p.directives()
	}
	var err error
	if p.found("on") {
		if s.on, err = p.named("a type"); err != nil {
			return s, err
		}
	}
	if err := p.directives(); err != nil {
		return s, err
	}
	s.children, err = p.selectionSet()
	return s, err
}

// arguments returns the one that bounds a list.
func (p *parser) arguments() (limit string, err error) {
	err = p.inside("(", ")", func() error {
		name, err := p.named("an argument")
		if err != nil {
			return err
		}
		if err := p.need(":"); err != nil {
			return err
		}
		if name == "limit" {
			limit = p.peek()
			if limit == "$" && p.next+1 < len(p.tokens) {
				limit += p.tokens[p.next+1].text
			}
		}
		return p.value()
	})
	return limit, err
}

func (p *parser) value() error {
	switch v := p.peek(); {
	case v == "$":
		p.next++
		_, err := p.named("the name of a variable")
		return err
	case v == "[":
		return p.inside("[", "]", p.value)
	case v == "{":
		return p.inside("{", "}", func() error {
			if _, err := p.named("a key"); err != nil {
				return err
			}
			if err := p.need(":"); err != nil {
				return err
			}
			return p.value()
		})
	case v != "" && (nameStart(v[0]) || digit(v[0]) || v[0] == '-' || v[0] == '"'):
		p.next++
		return nil
	}
	return p.expected("a value")
}

func (p *parser) directives() error {
	for p.found("@") {
		if _, err := p.named("a directive"); err != nil {
			return err
		}
		if p.peek() == "(" {
			if _, err := p.arguments(); err != nil {
				return err
			}
		}
	}
	return nil
}

// operation is the one that a call runs, or nil when that is not clear; the
// executor says what is wrong then.
func (d *document) operation(name string) *operation {
	if name == "" && len(d.operations) == 1 {
		return &d.operations[0]
	}
	for i := range d.operations {
		if name != "" && d.operations[i].name == name {
			return &d.operations[i]
		}
	}
	return nil
}

// locate finds the field that a path of response names leads to.
func (d *document) locate(in []selection, path []string) (at wire.Position, ok bool) {
	for _, s := range in {
		switch {
		case s.spread != "":
			if f := d.fragments[s.spread]; f != nil {
				at, ok = d.locate(f.selections, path)
			}
		case s.name == "":
			at, ok = d.locate(s.children, path)
		case s.alias != path[0]:
		case len(path) == 1:
			return s.at, true
		default:
			at, ok = d.locate(s.children, path[1:])
		}
		if ok {
			return at, true
		}
	}
	return wire.Position{}, false
}
