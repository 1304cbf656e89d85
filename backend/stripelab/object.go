package stripelab

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
)

// object is a record in the form in which the gateway answers it. A field whose name begins
// with an underscore is the lab's own and never answered. Whole numbers are int64.
type object map[string]any

func (o object) text(name string) string { s, _ := o[name].(string); return s }
func (o object) num(name string) int64   { n, _ := o[name].(int64); return n }
func (o object) yes(name string) bool    { v, _ := o[name].(bool); return v }
func (o object) at(name string) object   { v, _ := o[name].(object); return v }

// objects returns the elements of an array of objects, or of the data of a list.
func (o object) objects(name string) []object {
	switch v := o[name].(type) {
	case []object:
		return v
	case object:
		return v.objects("data")
	}
	return nil
}

// texts returns the elements of an array of texts.
func (o object) texts(name string) []string { v, _ := o[name].([]string); return v }

func (o object) id() string   { return o.text("id") }
func (o object) kind() string { return o.text("object") }

// or returns a text, or nil if it is empty: the gateway's null.
func or(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// whole returns a number, or nil if it is 0.
func whole(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// listOf returns the list object of some records.
func listOf(url string, data []object, more bool) object {
	if data == nil {
		data = []object{}
	}
	return object{"object": "list", "data": data, "has_more": more, "url": url}
}

// clone copies a value, so that later changes of the original do not change the copy.
func clone(value any) any {
	switch v := value.(type) {
	case object:
		copied := make(object, len(v))
		for name, field := range v {
			if !strings.HasPrefix(name, "_") {
				copied[name] = clone(field)
			}
		}
		return copied
	case []object:
		copied := make([]object, len(v))
		for i, one := range v {
			copied[i], _ = clone(one).(object)
		}
		return copied
	case map[string]string:
		return maps.Clone(v)
	case []string:
		return append([]string{}, v...)
	}
	return value
}

// changes returns the former values of the fields that differ, as an event has them.
func changes(before, after object) object {
	changed := object{}
	for name, value := range after {
		if old, had := before[name]; !strings.HasPrefix(name, "_") && (!had || !reflect.DeepEqual(old, clone(value))) {
			changed[name] = old
		}
	}
	return changed
}

// encode returns the JSON of a value.
func encode(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	// The values are maps, slices, texts, numbers and flags, which always encode.
	_ = e.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
