package braintreelab

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"kith/backend/gateway/braintree"
	"kith/backend/gateway/xmltree"
)

// pageSize is how many records a page of a search has.
const pageSize = 50

// fields are the searchable fields of a record; "ids" is its id.
type fields map[string]string

// found is a record that a search compares.
type found struct {
	fields fields
	xml    func() *xmltree.Node
}

func (b *book) allSubscriptions() (all []found) {
	for _, s := range b.subscriptions.order {
		f := fields{
			"id": s.id, "plan_id": s.plan.id, "status": string(s.status), "merchant_account_id": s.plan.merchantAccount(),
			"price": string(braintree.NewAmount(s.price, s.plan.currency)), "created_at": s.created.Format(time.RFC3339),
			"in_trial_period": strconv.FormatBool(s.inTrial()), "next_billing_date": s.nextBilling.Format(time.DateOnly),
			"days_past_due": s.daysPastDue(b.now).Text,
		}
		all = append(all, found{f, func() *xmltree.Node { return s.xml(b.now) }})
	}
	return all
}

func (b *book) allCustomers() (all []found) {
	for _, c := range b.customers.order {
		f := fields{"id": c.id, "email": c.email, "first_name": c.firstName, "last_name": c.lastName, "company": c.company, "created_at": c.created.Format(time.RFC3339)}
		all = append(all, found{f, func() *xmltree.Node { return b.customerXML(c) }})
	}
	return all
}

func (b *book) allTransactions() (all []found) {
	for _, t := range b.transactions.order {
		f := fields{
			"id": t.id, "order_id": t.orderID, "customer_id": t.customer.id, "payment_method_token": t.method.token, "status": string(t.status),
			"type": string(t.kind), "currency": t.currency, "amount": string(braintree.NewAmount(t.amount, t.currency)), "created_at": t.created.Format(time.RFC3339),
		}
		all = append(all, found{f, t.xml})
	}
	return all
}

// ids answers the first half of a search: the ids of all matching records.
func ids(all func(*book) []found) func(*book, command) reply {
	return searched(all, func(matching []found) *xmltree.Node {
		list := xmltree.Array("ids")
		for _, f := range matching {
			list.Children = append(list.Children, xmltree.Text("item", f.fields["id"]))
		}
		return xmltree.Object("search_results", xmltree.Int("page_size", pageSize), list)
	})
}

// page answers the second half: the records of some ids.
func page(name string, all func(*book) []found) func(*book, command) reply {
	return searched(all, func(matching []found) *xmltree.Node {
		list := &xmltree.Node{Name: name, Type: xmltree.TypeCollection}
		list.Children = append(list.Children, xmltree.Int("current_page_number", 1), xmltree.Int("page_size", pageSize), xmltree.Int("total_items", len(matching)))
		for _, f := range matching[:min(len(matching), pageSize)] {
			list.Children = append(list.Children, f.xml())
		}
		return list
	})
}

// searched answers the records that match all criteria of a call.
func searched(all func(*book) []found, answer func([]found) *xmltree.Node) func(*book, command) reply {
	return func(b *book, c command) reply {
		matching, unknown := search(c, all(b))
		if unknown != "" {
			return refused(problems{{[]string{"search"}, unknown, "", "The lab does not search by " + unknown + "."}}, nil)
		}
		return ok(answer(matching))
	}
}

// search returns the records that match all criteria, or the name of an unknown field.
func search(c command, all []found) (matching []found, unknown string) {
	criteria := c.body.Items("search")
	for _, criterion := range criteria {
		// All records have the same fields.
		if len(all) > 0 && criterion.Name != "ids" {
			if _, known := all[0].fields[criterion.Name]; !known {
				return nil, criterion.Name
			}
		}
	}
	for _, f := range all {
		if !slices.ContainsFunc(criteria, func(n *xmltree.Node) bool { return !f.fields.match(n) }) {
			matching = append(matching, f)
		}
	}
	return matching, ""
}

// match checks one criterion: a list of values, or one or more comparisons.
func (f fields) match(criterion *xmltree.Node) bool {
	name := criterion.Name
	if name == "ids" {
		name = "id"
	}
	value := f[name]
	if criterion.Type == xmltree.TypeArray {
		return slices.ContainsFunc(criterion.Children, func(n *xmltree.Node) bool { return n.Text == value })
	}
	for _, c := range criterion.Children {
		if !compare(c.Name, value, c.Text) {
			return false
		}
	}
	return true
}

func compare(how, value, want string) bool {
	switch how {
	case "is":
		return strings.EqualFold(value, want) || order(value, want) == 0
	case "is_not":
		return !strings.EqualFold(value, want)
	case "starts_with":
		return strings.HasPrefix(strings.ToLower(value), strings.ToLower(want))
	case "ends_with":
		return strings.HasSuffix(strings.ToLower(value), strings.ToLower(want))
	case "contains":
		return strings.Contains(strings.ToLower(value), strings.ToLower(want))
	case "min":
		return order(value, want) == 0 || order(value, want) == 1
	case "max":
		return order(value, want) == 0 || order(value, want) == -1
	}
	return false
}

// order compares two times, days or amounts as -1, 0 or 1; it returns 2 for values that
// cannot be compared.
func order(a, b string) int {
	x, okX := rank(a)
	y, okY := rank(b)
	if !okX || !okY {
		return 2
	}
	return cmp.Compare(x, y)
}

// rank converts a time, a day or an amount to a number, by which values are ordered.
func rank(text string) (int64, bool) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.Unix(), true
		}
	}
	minor, err := braintree.Amount(text).Minor("KWD")
	return minor, err == nil
}
