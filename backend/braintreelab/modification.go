package braintreelab

import (
	"slices"
	"strconv"

	"kith/backend/gateway/braintree"
	"kith/backend/gateway/xmltree"
)

const (
	discountKind = "discount"
	addOnKind    = "add_on"
)

// modification is a discount or an add-on: of the merchant's catalog, or on a
// subscription.
type modification struct {
	kind, id, name string
	// placeholder is the amount in the catalog, which has no currency.
	placeholder braintree.Amount
	// amount is the amount for a quantity of 1, in minor units of the subscription's currency.
	amount   int64
	quantity int
	// cycles is the number of billing cycles to which it applies; 0 means no end. spent
	// is how many of them have passed.
	cycles, spent int
}

func total(all []modification) (sum int64) {
	for _, m := range all {
		sum += m.amount * int64(m.quantity)
	}
	return sum
}

// spend counts a billing cycle, and returns those that apply to the next one.
func spend(all []modification) []modification {
	var left []modification
	for _, m := range all {
		m.spent++
		if m.cycles == 0 || m.spent < m.cycles {
			left = append(left, m)
		}
	}
	return left
}

func (m modification) xml(currency string) *xmltree.Node {
	amount := m.placeholder
	if currency != "" {
		amount = braintree.NewAmount(m.amount, currency)
	}
	return xmltree.Object(m.kind,
		xmltree.Text("id", m.id), xmltree.Text("amount", string(amount)), xmltree.Int("quantity", m.quantity), xmltree.Text("kind", m.kind),
		xmltree.Text("name", m.name), xmltree.Null("description"), xmltree.Bool("never_expires", m.cycles == 0),
		intOrNull("number_of_billing_cycles", m.cycles), xmltree.Int("current_billing_cycle", m.spent),
	)
}

func modificationsXML(name string, all []modification, currency string) *xmltree.Node {
	list := xmltree.Array(name)
	for _, m := range all {
		list.Children = append(list.Children, m.xml(currency))
	}
	return list
}

// listCatalog lists the modifications of a kind.
func listCatalog(name, kind string) func(*book, command) reply {
	return func(b *book, _ command) reply {
		list := xmltree.Array(name)
		for _, m := range b.catalog.order {
			if m.kind == kind {
				list.Children = append(list.Children, m.xml(""))
			}
		}
		return ok(list)
	}
}

// change is one request to change the discounts, or the add-ons, of a
// subscription.
type change struct {
	kind     string
	currency string
	in       *xmltree.Node
	// path leads to in, for errors.
	path []string
	bad  *problems
}

// modify returns the modifications of a subscription after a change, and records the
// problems of the change.
func (b *book) modify(current []modification, c change) []modification {
	after := slices.Clone(current)
	for i, item := range c.in.Items("remove") {
		after = b.removeOne(after, c, at(c, "remove", i), item.Text)
	}
	for i, item := range c.in.Items("update") {
		b.updateOne(after, c, at(c, "update", i), item)
	}
	for i, item := range c.in.Items("add") {
		after = b.addOne(after, c, at(c, "add", i), item)
	}
	return after
}

func at(c change, verb string, i int) []string {
	return append(slices.Clone(c.path), verb, "index_"+strconv.Itoa(i))
}

func index(all []modification, id string) int {
	return slices.IndexFunc(all, func(m modification) bool { return m.id == id })
}

func (b *book) removeOne(all []modification, c change, path []string, id string) []modification {
	known := b.catalog.find(id)
	i := index(all, id)
	switch {
	case i >= 0:
		return slices.Delete(all, i, i+1)
	case known == nil:
		c.bad.add(path, "id_to_remove", "92025")
	case known.kind != c.kind:
		c.bad.add(path, "id_to_remove", "92021")
	default:
		c.bad.add(path, "id_to_remove", "92016")
	}
	return all
}

func (b *book) updateOne(all []modification, c change, path []string, in *xmltree.Node) {
	id := in.Value("existing_id")
	i := index(all, id)
	known := b.catalog.find(id)
	switch {
	case id == "":
		c.bad.add(path, "existing_id", "92012")
	case i < 0 && known != nil && known.kind != c.kind:
		c.bad.add(path, "existing_id", "92020")
	case i < 0:
		c.bad.add(path, "existing_id", "92011")
	default:
		c.fill(&all[i], path, in)
	}
}

// addOne adds a modification. Like the gateway, it refuses an id that the subscription
// already has.
func (b *book) addOne(all []modification, c change, path []string, in *xmltree.Node) []modification {
	id := in.Value("inherited_from_id")
	known := b.catalog.find(id)
	switch {
	case id == "":
		c.bad.add(path, "inherited_from_id", "92014")
	case known == nil || known.kind != c.kind:
		c.bad.add(path, "inherited_from_id", "92013")
	case index(all, id) >= 0:
		c.bad.add([]string{"subscription"}, "base", "91911")
	default:
		m := *known
		amount, err := m.placeholder.Minor(c.currency)
		if err != nil && in.At("amount") == nil {
			c.bad.add(path, "amount", "92003")
		}
		m.amount = amount
		c.fill(&m, path, in)
		return append(all, m)
	}
	return all
}

// maxModification is the smallest amount that is too large, in major units.
const maxModification = 1_000_000

// fill sets the fields of a modification that a request names.
func (c change) fill(m *modification, path []string, in *xmltree.Node) {
	if amount := in.At("amount"); amount != nil {
		minor, err := money(amount.Text, c.currency)
		limit, _ := braintree.Amount(strconv.Itoa(maxModification)).Minor(c.currency)
		switch {
		case amount.Text == "":
			c.bad.add(path, "amount", "92003")
		case err != nil || minor < 0:
			c.bad.add(path, "amount", "92002")
		case minor > limit:
			c.bad.add(path, "amount", "92023")
		}
		m.amount = minor
	}
	if in.At("quantity") != nil {
		if m.quantity = number(in, "quantity"); m.quantity < 1 {
			c.bad.add(path, "quantity", "92010")
		}
	}
	if in.True("never_expires") {
		m.cycles = 0
	}
	if n := in.At("number_of_billing_cycles"); n != nil && !n.Nil {
		if m.cycles = number(in, "number_of_billing_cycles"); m.cycles < 1 {
			c.bad.add(path, "number_of_billing_cycles", "92019")
		}
	}
}
