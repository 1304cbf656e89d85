package importfile

import (
	"slices"
	"strconv"
	"strings"

	"kith/core"
	"kith/core/job"
)

// Mapping says which columns of a file fill which columns of Kith: the name in the file's header
// by that of Kith. One column may fill several. An empty name means that nothing fills it.
// Columns that it does not name keep their meaning, if they have one.
type Mapping map[string]string

// sources returns the columns that the mapping fills from each cell.
func (h *header) sources() map[int][]Column {
	all := map[int][]Column{}
	for _, target := range h.mapping.Names() {
		source, at := h.mapping[target], "params.columns."+shown(target)
		c, ok := h.exact(target)
		if !ok || c.Ignored || c.Name() != target {
			h.add(at, "is not a column of this type of job")
			continue
		}
		if source == "" {
			continue
		}
		switch found := indexes(h.layout.Names, source); len(found) {
		case 0:
			h.add(at, "names the column "+strconv.Quote(shown(source))+", which the header does not have")
		case 1:
			all[found[0]] = append(all[found[0]], c)
		default:
			h.add(at, "names the column "+strconv.Quote(shown(source))+", which is there twice; rename one of them")
		}
	}
	return all
}

// indexes returns the columns with a name, or else those that differ from it only as canonical
// ignores.
func indexes(names []string, name string) (exact []int) {
	var alike []int
	for i, n := range names {
		if n == name {
			exact = append(exact, i)
		} else if canonical(n) == canonical(name) {
			alike = append(alike, i)
		}
	}
	if exact == nil {
		return alike
	}
	return exact
}

// Names returns the names of the columns that the mapping is about, in order.
func (m Mapping) Names() []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// UserColumns returns the names of the columns of a type that say who a person is.
func UserColumns(t job.Type) [2]string {
	if t == job.ImportUserEvent {
		return [2]string{"accountId", "userId"}
	}
	return [2]string{"accountId", "id"}
}

// Meanings returns what each column of a header means by itself: the name of Kith's column, or
// "" if nothing reads it.
func Meanings(t job.Type, names []string) []string {
	h := header{rules: rulesOf(t), synonyms: synonymsOf(t), layout: Layout{Names: names}}
	all := make([]string, len(names))
	for i, name := range names {
		if c, ok := h.meaning(name); ok && !c.Ignored {
			all[i] = c.Name()
		}
	}
	return all
}

// Guess returns a mapping for a header: of the ids that are missing, from the column of the
// other id, or else from that of the mail address.
func Guess(t job.Type, names []string) Mapping {
	first := map[string]string{}
	for i, meant := range Meanings(t, names) {
		if means(mailColumns, canonical(names[i])) {
			meant = "email"
		}
		if _, ok := first[meant]; !ok {
			first[meant] = names[i]
		}
	}
	m, ids := Mapping{}, UserColumns(t)
	for _, id := range ids {
		if _, ok := first[id]; ok {
			continue
		}
		for _, other := range []string{ids[1], ids[0], "email"} {
			if source, ok := first[other]; ok {
				m[id] = source
				break
			}
		}
	}
	return m
}

// proposal says which mapping may fill the ids that are missing.
func (h *header) proposal(t job.Type) string {
	m := Guess(t, h.layout.Names)
	if h.mapping != nil || len(m) == 0 {
		return ""
	}
	var pairs []string
	for _, key := range m.Names() {
		pairs = append(pairs, strconv.Quote(key)+":"+strconv.Quote(shown(m[key])))
	}
	return "; if this column says who a person is, set params.columns to {" + strings.Join(pairs, ",") + "}"
}

// Known returns the names of the columns of a type of job, for people to choose from.
func Known(t job.Type) (all []string) {
	r := rulesOf(t)
	all = append(all, r.required...)
	for name := range r.known {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	for _, name := range SampleColumns(t) {
		if _, alias := r.aliases[name]; !alias && !slices.Contains(all, name) && !strings.HasPrefix(name, "customFields.") {
			all = append(all, name)
		}
	}
	slices.Sort(all[len(r.required):])
	return all
}

// decimal returns a number with a decimal point, given one that has a decimal comma, and perhaps
// thousands separators, such as 1.234,50. Another text is returned as it is. An amount of money
// may have thousands separators alone; sure is false if it is one such as 1.234, which may be
// either.
func decimal(cell string, money bool) (number string, sure bool) {
	text := strings.TrimSpace(cell)
	digits := strings.TrimPrefix(text, "-")
	whole, fraction, comma := strings.Cut(digits, ",")
	if comma && !core.Digits(fraction) || !comma && !money {
		return cell, true
	}
	for _, separator := range []string{".", " ", "\u00a0", "\u202f", "'", "’"} {
		groups := strings.Split(whole, separator)
		if len(groups) == 1 {
			continue
		}
		for i, group := range groups {
			if !core.Digits(group) || i > 0 && len(group) != 3 || len(group) > 3 {
				return cell, true
			}
		}
		if separator == "." && len(groups) == 2 && !comma {
			return cell, false
		}
		whole = strings.Join(groups, "")
		break
	}
	if money && core.Thousand(digits, ",") {
		return cell, false
	}
	if !core.Digits(whole) || len(whole) > 1 && whole[0] == '0' {
		return cell, true
	}
	number = whole
	if comma {
		number += "." + fraction
	}
	if text != digits {
		number = "-" + number
	}
	return number, true
}
