package graphql

import (
	"slices"

	"kith/core"
)

// filterReader reads the conditions of a filter; the first problem stays.
type filterReader struct {
	at string
	a  argument
	// asked are the conditions that were read.
	asked []string
	err   error
}

// condition is what a condition asks for.
func (r *filterReader) condition(name string) argument {
	r.asked = append(r.asked, name)
	return r.a.member(name)
}

// known refuses a filter that is none, and one with conditions that nobody
// reads. The executor does so where the schema has its form.
func (r *filterReader) known() {
	object, ok := r.a.object()
	if !ok {
		r.fail(core.Malformed(r.at, "must be an object"))
	}
	for name := range object {
		if !slices.Contains(r.asked, name) {
			r.fail(core.Malformed(r.at+"."+name, "is not a condition that is known here"))
		}
	}
}

// text is the value of a condition; "" when it is not given.
func (r *filterReader) text(name string) string {
	s, err := r.condition(name).text(r.at + "." + name)
	r.fail(err)
	return s
}

// texts are the values of a condition that takes several, and of one that takes
// one; no condition is nil.
func (r *filterReader) texts(several, one string) []string {
	list := r.condition(several)
	if list.value == nil {
		if s := r.text(one); s != "" {
			return []string{s}
		}
		return nil
	}
	items := list.list()
	if len(items) > maxConditions {
		r.fail(core.Invalid(r.at+"."+several, "must not have more than 100 elements"))
		return nil
	}
	// A list of none is a condition that nothing meets.
	all := []string{}
	wanted := r.text(one)
	for _, item := range items {
		s, err := item.text(r.at + "." + several)
		r.fail(err)
		if wanted == "" || wanted == s {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		all = append(all, "")
	}
	return all
}

// span are the two conditions on a date.
func (r *filterReader) span(name string) (s core.Span) {
	var err error
	s.From, err = r.condition(name + "_gte").date(r.at + "." + name + "_gte")
	r.fail(err)
	s.Before, err = r.condition(name + "_lt").date(r.at + "." + name + "_lt")
	r.fail(err)
	return s
}

// whose are the conditions on a user.
func (r *filterReader) whose() (account core.AccountID, user core.UserID) {
	account, user = core.AccountID(r.text("accountId_eq")), core.UserID(r.text("userId_eq"))
	if user != "" && account == "" {
		r.fail(core.Invalid(r.at+".userId_eq", "needs accountId_eq: a user's id is unique in its account only"))
	}
	return account, user
}

func (r *filterReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}
