package frame

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"kith/core/people"
)

// Change is one value that a change added, removed or replaced. Was and Is are empty if it
// was not set.
type Change struct{ Label, Was, Is string }

// Changes returns what an entry of the audit log changed, in words: the values by their paths.
func Changes(e people.Entry) (all []Change) {
	before, after := valuesIn(e.Before), valuesIn(e.After)
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if before[name] != after[name] {
			all = append(all, Change{Label: labelOf(name), Was: before[name], Is: after[name]})
		}
	}
	return all
}

// valuesIn returns the values in a JSON object as people read them, by their paths.
func valuesIn(object string) map[string]string {
	all := map[string]string{}
	var root any
	from := json.NewDecoder(strings.NewReader(object))
	from.UseNumber()
	if from.Decode(&root) == nil { // else it is empty
		addValues(all, "", root)
	}
	return all
}

// addValues adds the values in a JSON value to all. Elements of a list follow each other.
func addValues(all map[string]string, path string, value any) {
	switch value := value.(type) {
	case nil:
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			addValues(all, strings.TrimPrefix(path+"."+name, "."), value[name])
		}
	case []any:
		for _, one := range value {
			addValues(all, path, one)
		}
	default:
		text := fmt.Sprint(value)
		switch at, err := strconv.ParseInt(text, 10, 64); {
		case value == true:
			text = "yes"
		case value == false:
			text = "no"
		case err == nil && strings.HasPrefix(path[strings.LastIndex(path, ".")+1:], "date"):
			text = time.UnixMilli(at).UTC().Format("2 Jan 2006, 15:04 UTC")
		}
		if before := all[path]; before != "" {
			text = before + ", " + text
		}
		all[path] = text
	}
}

// labelOf returns a path such as events.dateCreated in words: Events, date created.
func labelOf(path string) string {
	var label strings.Builder
	for i, c := range path {
		switch {
		case i == 0:
			label.WriteRune(unicode.ToUpper(c))
		case c == '.':
			label.WriteString(", ")
		case unicode.IsUpper(c) && !unicode.IsUpper(rune(path[i-1])):
			label.WriteString(" " + strings.ToLower(string(c)))
		default:
			label.WriteRune(unicode.ToLower(c))
		}
	}
	return label.String()
}
