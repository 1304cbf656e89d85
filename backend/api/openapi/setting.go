package openapi

import (
	"fmt"

	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/reward"
)

// addSettings adds to each schema with x-settings the settings of that object of a program that
// its properties lack.
func (d *assembly) addSettings() error {
	schemas := d.root.object("components").object("schemas")
	for i, m := range schemas {
		schema, _ := m.value.(object)
		of, ok := schema.get("x-settings").(string)
		if !ok {
			continue
		}
		properties := schema.object("properties")
		for _, s := range referral.SettingsOf(of) {
			if properties.get(s.Key()) != nil {
				continue
			}
			property := d.setting(s)
			if property == nil || s.API == "" {
				return fmt.Errorf("schema %s: the setting %s has no text for the API or an unknown type", m.key, s.Path)
			}
			properties = properties.with(s.Key(), property)
		}
		schemas[i].value = schema.without("x-settings").with("properties", properties)
	}
	return nil
}

// setting returns the schema of a setting, by the type of its value.
func (d *assembly) setting(s referral.Setting) object {
	typed := func(kind string, more ...member) object {
		return append(object{{"description", s.API}, {"type", kind}, {"nullable", true}}, more...)
	}
	ref := func(schema string) object {
		return object{{"description", s.API}, {"nullable", true}, {"allOf", []any{object{{"$ref", "#/components/schemas/" + schema}}}}}
	}
	list := func(most int, more ...member) object {
		items := append(object{{"type", "string"}, {"minLength", 1}, {"maxLength", most}}, more...)
		return typed("array", member{"maxItems", s.Most}, member{"items", items})
	}
	switch s.At(&referral.Program{}).(type) {
	case *bool:
		return typed("boolean")
	case *string:
		return typed("string", member{"maxLength", s.Most})
	case *int64:
		return typed("integer", member{"format", "int64"}, member{"minimum", 0}, member{"maximum", s.Most})
	case *reward.BasisPoints:
		return typed("number", member{"format", "double"}, member{"minimum", 0}, member{"maximum", 100})
	case *core.Time:
		return d.root.object("components").object("schemas").object("MaybeDuration").without("example").with("description", s.API)
	case *[]string:
		return list(255)
	case *[]conversion.Condition:
		return list(500, member{"example", "revenue >= 50"})
	case *referral.Handling:
		return ref("FraudHandling")
	case *map[referral.Signal]referral.Handling:
		return ref("FraudSignalHandlings")
	}
	return nil
}
