package stripelab

import (
	"slices"
	"strings"
)

// maxExpand is how many levels expand reaches.
const maxExpand = 4

// expandable are the names of the fields that have the id of another record.
var expandable = []string{
	"charge", "coupon", "customer", "default_payment_method", "discount", "discounts", "invoice", "latest_charge", "latest_invoice", "payment_intent",
	"payment_link", "payment_method", "price", "product", "promotion_code", "shipping_rate", "subscription", "tax_rate",
}

// paths is what is to be expanded: paths below each name.
type paths map[string]paths

func parsePaths(all []string) (paths, *failure) {
	root := paths{}
	for _, path := range all {
		parts := strings.Split(path, ".")
		if n := len(parts); n > maxExpand && (n > maxExpand+1 || parts[0] != "data") {
			return nil, invalid("", "expand", "You cannot expand more than 4 levels of a property. Property: "+path)
		}
		level := root
		for _, part := range parts {
			if level[part] == nil {
				level[part] = paths{}
			}
			level = level[part]
		}
	}
	return root, nil
}

// render returns the answer for a record, with the fields that the call expands.
func (b *book) render(o object, expand paths) (object, *failure) {
	out := make(object, len(o))
	for name, value := range o {
		if strings.HasPrefix(name, "_") {
			continue
		}
		below, wanted := expand[name]
		rendered, f := b.renderField(name, value, below, wanted)
		if f != nil {
			return nil, f
		}
		out[name] = rendered
	}
	for name, below := range expand {
		if _, has := o[name]; has {
			continue
		}
		if o.kind() != "invoice" || name != "payments" {
			return nil, cannotExpand(name)
		}
		// An invoice has its payments only if they are expanded.
		payments := b.where("invoice_payment", "invoice", o.id())
		rendered, f := b.render(listOf("/v1/invoice_payments?invoice="+o.id(), payments, false), below)
		if f != nil {
			return nil, f
		}
		out[name] = rendered
	}
	return out, nil
}

func cannotExpand(name string) *failure {
	return invalid("", "expand", "This property cannot be expanded ("+name+").")
}

func (b *book) renderField(name string, value any, below paths, wanted bool) (any, *failure) {
	switch v := value.(type) {
	case object:
		return b.render(v, below)
	case []object:
		all := make([]object, len(v))
		for i, one := range v {
			rendered, f := b.render(one, below)
			if f != nil {
				return nil, f
			}
			all[i] = rendered
		}
		return all, nil
	case string:
		if wanted {
			return b.follow(name, v, below)
		}
	case []string:
		if !wanted {
			return append([]string{}, v...), nil
		}
		all := make([]any, len(v))
		for i, id := range v {
			followed, f := b.follow(name, id, below)
			if f != nil {
				return nil, f
			}
			all[i] = followed
		}
		return all, nil
	case nil:
		return nil, nil
	default:
		if wanted {
			return nil, cannotExpand(name)
		}
	}
	return value, nil
}

// follow returns the record that a field names.
func (b *book) follow(name, id string, below paths) (any, *failure) {
	target := b.all[id]
	if target == nil || !slices.Contains(expandable, name) {
		return nil, cannotExpand(name)
	}
	if target.yes("_deleted") && target.kind() == "customer" {
		return deleted(target), nil
	}
	return b.render(target, below)
}

// where returns the records of a kind with a value in a field, oldest first.
func (b *book) where(kind, field, value string) []object {
	var all []object
	for _, o := range b.table(kind) {
		if o.text(field) == value {
			all = append(all, o)
		}
	}
	return all
}
