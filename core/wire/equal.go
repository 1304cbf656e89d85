package wire

import "github.com/tidwall/gjson"

// sameValue reports whether two JSON values are equal: numbers by their exact value,
// strings by their characters, arrays by element, and objects in any order of keys. A
// key with the value null is the same as an absent key. An object with a duplicate
// key is not equal to any value.
//
// The cost depends on signed, because value may be a thousand times as large.
func sameValue(signed, value gjson.Result) bool {
	switch {
	case signed.IsObject():
		return value.IsObject() && sameObject(signed, value)
	case signed.IsArray():
		return value.IsArray() && sameArray(signed, value)
	case signed.Type != value.Type:
		return false
	case signed.Type == gjson.Number:
		return sameNumber(signed.Raw, value.Raw)
	case signed.Type == gjson.String:
		return signed.String() == value.String()
	}
	return true
}

func sameArray(signed, value gjson.Result) bool {
	a := signed.Array()
	i, same := 0, true
	value.ForEach(func(_, element gjson.Result) bool {
		same = i < len(a) && sameValue(a[i], element)
		i++
		return same
	})
	return same && i == len(a)
}

func sameObject(signed, value gjson.Result) bool {
	missing := map[string]gjson.Result{}
	same := true
	signed.ForEach(func(key, member gjson.Result) bool {
		_, twice := missing[key.String()]
		same = !twice
		if member.Type != gjson.Null {
			missing[key.String()] = member
		}
		return same
	})
	value.ForEach(func(key, member gjson.Result) bool {
		if member.Type == gjson.Null || !same {
			return same
		}
		want, found := missing[key.String()]
		same = found && sameValue(want, member)
		delete(missing, key.String())
		return same
	})
	return same && len(missing) == 0
}

// sameSet reports whether two arrays of strings have the same elements, ignoring
// order and duplicates. Other values are compared by sameValue.
func sameSet(signed, value gjson.Result) bool {
	if !texts(signed) || !texts(value) {
		return sameValue(signed, value)
	}
	found := map[string]bool{}
	signed.ForEach(func(_, element gjson.Result) bool {
		found[element.String()] = false
		return true
	})
	same := true
	value.ForEach(func(_, element gjson.Result) bool {
		_, same = found[element.String()]
		found[element.String()] = true
		return same
	})
	for _, there := range found {
		same = same && there
	}
	return same
}

// texts reports whether a value is an array of strings.
func texts(v gjson.Result) bool {
	ok := v.IsArray()
	v.ForEach(func(_, element gjson.Result) bool {
		ok = ok && element.Type == gjson.String
		return ok
	})
	return ok
}
