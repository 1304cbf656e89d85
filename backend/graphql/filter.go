package graphql

import "kith/core"

// filterReader reads the conditions of a filter. It keeps the first error in err.
type filterReader struct {
	at string
	a  argument
	// outer is the filter that contains this one, or nil.
	outer *filterReader
	err   error
}

// text returns the value of a condition; "" if it is not set.
func (r *filterReader) text(name string) string {
	return r.a.member(name).text()
}

// texts returns the values that satisfy two conditions: several, which has a list of
// values, and one, which has one value. It returns nil if neither is set.
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
	// No row satisfies an empty list: no stored value is "".
	all := []string{}
	wanted := r.text(one)
	for _, item := range items {
		if s := item.text(); wanted == "" || wanted == s {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		all = append(all, "")
	}
	return all
}

// span returns the two conditions on a date.
func (r *filterReader) span(name string) core.Span {
	return core.Span{From: r.a.member(name + "_gte").bound(), Before: r.a.member(name + "_lt").bound()}
}

// nested returns a reader of the filter within a filter, which may be missing.
func (r *filterReader) nested(name string) *filterReader {
	return &filterReader{at: r.at + "." + name, a: r.a.member(name), outer: r}
}

// user returns the account and the user of a filter on users.
func (r *filterReader) user() (account core.AccountID, user core.UserID) {
	return core.AccountID(r.text("accountId_eq")), core.UserID(r.text("id_eq"))
}

// owner returns the account and the user that own the rows.
func (r *filterReader) owner() (account core.AccountID, user core.UserID) {
	account, user = core.AccountID(r.text("accountId_eq")), core.UserID(r.text("userId_eq"))
	if user != "" && account == "" {
		r.fail(core.Invalid(r.at+".userId_eq", "needs accountId_eq: a user's id is unique in its account only"))
	}
	return account, user
}

// fail keeps the first error, in all readers around this one.
func (r *filterReader) fail(err error) {
	if r.outer != nil {
		r.outer.fail(err)
	}
	if r.err == nil {
		r.err = err
	}
}
