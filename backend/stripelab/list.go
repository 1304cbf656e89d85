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
const pages = " limit starting_after expand"

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

// matches reports whether the fields of a record have the values of the parameters, and
// whether it was created in their time.
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
	from := c.form.at("created")
	return from == nil || o.num("created") >= c.whole(from.str("gte"), "created[gte]")
}

// page answers the page that the cursor of a call names.
func (c *call) page(all []object) object {
	limit := int64(defaultLimit)
	if c.form.has("limit") {
		limit = c.whole(c.form.str("limit"), "limit")
		if limit < 1 || limit > maxLimit {
			return c.refuse(invalid("", "limit", "Invalid limit: must be between 1 and 100"))
		}
	}
	if after := c.form.str("starting_after"); after != "" {
		i := slices.IndexFunc(all, func(o object) bool { return o.id() == after })
		if i < 0 {
			return c.refuse(missing("object", after, "starting_after"))
		}
		all = all[i+1:]
	}
	return listOf(c.path, all[:min(len(all), int(limit))], len(all) > int(limit))
}
