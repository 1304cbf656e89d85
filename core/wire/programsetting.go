package wire

import (
	"strconv"

	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/reward"
)

// setting reads a setting of an object of a program.
func (p *programParser) setting(r *reader, key string, v *fastjson.Value) bool {
	path := r.path(key)
	for _, s := range referral.Settings() {
		if s.Path == path {
			p.before = p.before || path == "conversion.beforeDuration" && v.Type() != fastjson.TypeNull
			return r.value(s.At(&p.p), key, v)
		}
	}
	return false
}

// value reads a value of a program.
func (r *reader) value(into any, key string, v *fastjson.Value) bool {
	switch into := into.(type) {
	case *string:
		return take(r.text, into, key, v)
	case *bool:
		return take(r.boolean, into, key, v)
	case *int64:
		return r.count(into, key, v)
	case *core.Time:
		return setParsed(r, key, v, into, core.ParseDuration)
	case *reward.BasisPoints:
		return r.percent(into, key, v)
	case *referral.Handling:
		return setParsed(r, key, v, into, referral.ParseHandling)
	case *[]string:
		return parsedItems(r, key, v, referral.MaxAllowedHosts, into, anyText)
	case *[]conversion.Condition:
		return parsedItems(r, key, v, conversion.MaxConditions, into, conversion.ParseCondition)
	case *map[referral.Signal]referral.Handling:
		return r.nested(key, v, func(r *reader, key string, v *fastjson.Value) bool { return r.signal(into, key, v) })
	}
	return false
}

// signal reads what happens on a fraud signal.
func (r *reader) signal(into *map[referral.Signal]referral.Handling, key string, v *fastjson.Value) bool {
	for _, s := range referral.Signals() {
		if key != string(s) {
			continue
		}
		var h referral.Handling
		if setParsed(r, key, v, &h, referral.ParseHandling); h == "" {
			return true
		}
		if *into == nil {
			*into = map[referral.Signal]referral.Handling{}
		}
		(*into)[s] = h
		return true
	}
	return false
}

// programObject writes the settings of an object of a program.
func (w *writer) programObject(object string, p referral.Program) {
	w.object(object, func() {
		for _, s := range referral.SettingsOf(object) {
			w.value(s.Key(), s.At(&p), s.Unset)
		}
	})
}

func (w *writer) value(name string, from any, unset referral.Unset) {
	raw, isSet := "", true
	switch from := from.(type) {
	case *string:
		raw, isSet = string(appendString(nil, *from)), *from != ""
	case *bool:
		raw = strconv.FormatBool(*from)
	case *int64:
		raw, isSet = strconv.FormatInt(*from, 10), *from != 0
	case *core.Time:
		raw, isSet = `"`+core.FormatDuration(*from)+`"`, *from != 0
	case *reward.BasisPoints:
		raw, isSet = from.String(), *from != 0
	case *referral.Handling:
		raw = string(appendString(nil, string(*from)))
	case *[]string:
		raw = string(appendTexts(nil, *from))
	case *[]conversion.Condition:
		raw = string(list(nil, len(*from), func(b []byte, i int) []byte { return appendString(b, (*from)[i].String()) }))
	case *map[referral.Signal]referral.Handling:
		w.object(name, func() {
			for _, s := range referral.Signals() {
				if h, ok := (*from)[s]; ok {
					w.text(string(s), string(h))
				}
			}
		})
		return
	}
	switch {
	case isSet || unset == referral.AsItIs:
		w.raw(name, raw)
	case unset == referral.AsNull:
		w.raw(name, "null")
	}
}
