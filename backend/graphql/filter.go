package graphql

import "kith/core"

// filterReader reads the conditions of a filter; the first problem stays.
type filterReader struct {
	at string
	a  argument
	// outer is the filter that this one is in, or nil.
	outer *filterReader
	err   error
}

// text is the value of a condition; "" when it is not given.
func (r *filterReader) text(name string) string {
	s, err := r.a.member(name).text(r.at + "." + name)
	r.fail(err)
	return s
}

// texts are the values of a condition that takes several, and of one that takes
// one; no condition is nil.
func (r *filterReader) texts(several, one string) []string {
	list := r.a.member(several)
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
	s.From, err = r.a.member(name + "_gte").date(r.at + "." + name + "_gte")
	r.fail(err)
	s.Before, err = r.a.member(name + "_lt").date(r.at + "." + name + "_lt")
	r.fail(err)
	return s
}

// nested reads the conditions within one; nothing is wrong with one that is not
// given.
func (r *filterReader) nested(name string) *filterReader {
	return &filterReader{at: r.at + "." + name, a: r.a.member(name), outer: r}
}

// user are the account and the user that a filter names.
func (r *filterReader) user() (account core.AccountID, user core.UserID) {
	return core.AccountID(r.text("accountId_eq")), core.UserID(r.text("id_eq"))
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
	if r.outer != nil {
		r.outer.fail(err)
	}
	if r.err == nil {
		r.err = err
	}
}
