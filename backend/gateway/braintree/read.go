package braintree

import (
	"fmt"
	"strconv"
	"time"

	"kith/backend/gateway/xmltree"
	"kith/core"
)

// reader converts elements to values and keeps the first error. An absent element is the
// zero value: the gateway leaves out elements that do not apply.
type reader struct{ err error }

func (r *reader) fail(n *xmltree.Node, name, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("gateway: %s of %s is not a valid %s", name, n.Name, want)
	}
}

// id reads an id that can be part of a path. Other texts are refused: they are not ids
// of the gateway, and a sender could use them to change the target of a call.
func (r *reader) id(n *xmltree.Node, name string) string {
	id := n.Value(name)
	if id == "" || !isID(id) {
		r.fail(parent(n), name, "id")
		return ""
	}
	return id
}

// parent returns n, or a placeholder with a name for an absent element.
func parent(n *xmltree.Node) *xmltree.Node {
	if n == nil {
		return &xmltree.Node{Name: "an absent element"}
	}
	return n
}

func (r *reader) number(n *xmltree.Node, name string) int {
	text := n.Value(name)
	if text == "" {
		return 0
	}
	i, err := strconv.Atoi(text)
	if err != nil {
		r.fail(n, name, "number")
	}
	return i
}

func (r *reader) amount(n *xmltree.Node, name string) Amount {
	a := Amount(n.Value(name))
	if a == "" {
		return ""
	}
	if _, _, err := a.split(); err != nil {
		r.fail(n, name, "amount")
		return ""
	}
	return a
}

func (r *reader) day(n *xmltree.Node, name string) string {
	text := n.Value(name)
	if text == "" {
		return ""
	}
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		r.fail(n, name, "date")
		return ""
	}
	return text
}

func (r *reader) time(n *xmltree.Node, name string) core.Time {
	text := n.Value(name)
	if text == "" {
		return 0
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		r.fail(n, name, "time")
		return 0
	}
	return core.Time(at.UnixMilli())
}

func each[F, T any](from []F, read func(F) T) []T {
	var all []T
	for _, one := range from {
		all = append(all, read(one))
	}
	return all
}

// maxID is longer than any id of the gateway, which has at most 36 characters.
const maxID = 64

// isID reports whether s can be part of a path without escaping (gateway 1.7.1).
func isID(s string) bool {
	if s == "" || len(s) > maxID {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
