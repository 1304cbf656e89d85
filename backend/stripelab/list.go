package stripelab

import (
	"slices"
	"strconv"
)

const (
	defaultLimit = 10
	maxLimit     = 100
)

// pages are the parameters of every list.
const pages = " limit starting_after ending_before expand"

// list answers a page of the records that pass a filter, newest first. The parameters of
// fields are compared with the fields of the same name.
func (b *book) list(c *call, kind string, fields []string, keep func(object) bool) object {
	var all []object
	records := b.table(kind)
	for _, o := range slices.Backward(records) {
		if c.matches(o, fields) && (keep == nil || keep(o)) {
			all = append(all, o)
		}
	}
	return c.page(all)
}

// matches reports whether the fields of a record have the values of the parameters.
func (c *call) matches(o object, fields []string) bool {
	for _, name := range fields {
		if !c.form.has(name) {
			continue
		}
		want := c.form.str(name)
		switch v := o[name].(type) {
		case bool:
			if strconv.FormatBool(v) != want {
				return false
			}
		case string:
			if v != want {
				return false
			}
		default:
			return false
		}
	}
	return c.within(o.num("created"))
}

// within reports whether a time is in the range of the parameter created.
func (c *call) within(at int64) bool {
	created := c.form.at("created")
	if created == nil {
		return true
	}
	if len(created.fields) == 0 {
		return c.whole(created.text, "created") == at
	}
	for op, value := range created.fields {
		limit := c.whole(value.text, "created["+op+"]")
		switch op {
		case "gt":
			if at <= limit {
				return false
			}
		case "gte":
			if at < limit {
				return false
			}
		case "lt":
			if at >= limit {
				return false
			}
		case "lte":
			if at > limit {
				return false
			}
		}
	}
	return true
}

// page answers the page that the cursors of a call name.
func (c *call) page(all []object) object {
	limit := int64(defaultLimit)
	if c.form.has("limit") {
		limit = c.whole(c.form.str("limit"), "limit")
		if limit < 1 || limit > maxLimit {
			return c.refuse(invalid("", "limit", "Invalid limit: must be between 1 and 100"))
		}
	}
	at := func(id, param string) int {
		i := slices.IndexFunc(all, func(o object) bool { return o.id() == id })
		if i < 0 {
			c.refuse(missing("object", id, param))
		}
		return i
	}
	more := false
	switch after, before := c.form.str("starting_after"), c.form.str("ending_before"); {
	case after != "":
		all = all[at(after, "starting_after")+1:]
		more = len(all) > int(limit)
		all = all[:min(len(all), int(limit))]
	case before != "":
		all = all[:max(at(before, "ending_before"), 0)]
		more = len(all) > int(limit)
		all = all[max(len(all)-int(limit), 0):]
	default:
		more = len(all) > int(limit)
		all = all[:min(len(all), int(limit))]
	}
	return listOf(c.path, all, more)
}
