//go:build !tinygo

package text

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// texts returns the texts of a struct by the names of their fields. The forms of a
// plural have the name of the field and of the form.
func texts(t *testing.T, of any) map[string]string {
	t.Helper()
	all := map[string]string{}
	v := reflect.ValueOf(of)
	for i := range v.NumField() {
		name, value := v.Type().Field(i).Name, v.Field(i)
		switch {
		case value.Type() == reflect.TypeFor[Plural]():
			for j := range value.NumField() {
				all[name+"."+value.Type().Field(j).Name] = value.Field(j).String()
			}
		case value.Kind() == reflect.String:
			all[name] = value.String()
		}
	}
	if len(all) == 0 {
		t.Fatalf("%T has no texts", of)
	}
	return all
}

// placeholders returns the sorted, unique placeholders of a text.
func placeholders(text string) string {
	names := Placeholders(text)
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

// Each text exists in each language, with the placeholders of the English text. A
// plural has exactly the forms of its language; only a form for one number may leave
// out {n}.
func TestCatalog_IsCompleteInEachLanguage(t *testing.T) {
	formNames := map[Form]string{Other: "Other", Zero: "Zero", One: "One", Two: "Two", Few: "Few", Many: "Many"}
	english := texts(t, *catalogs[0])
	for i, language := range Languages {
		used := map[string]bool{"Other": true}
		for _, f := range catalogs[i].forms {
			used[formNames[f]] = true
		}
		own := texts(t, *catalogs[i])
		for name, text := range own {
			field, form, plural := strings.Cut(name, ".")
			want := english[name]
			if plural {
				want = english[field+".Other"]
			}
			switch {
			case plural && used[form] != (text != ""):
				t.Errorf("%s: %s is %q", language, name, text)
			case plural && !used[form]:
			case text == "" || text != strings.TrimSpace(text):
				t.Errorf("%s: %s is %q", language, name, text)
			case plural && (form == "One" || form == "Two") && placeholders(text) == "":
			case placeholders(text) != placeholders(want):
				t.Errorf("%s: %s has the placeholders %q, not %q", language, name, placeholders(text), placeholders(want))
			}
			if i > 0 && text != "" && text == want && !slices.Contains([]string{"Email", "TierOne", "Points.One", "Points.Other"}, name) {
				t.Errorf("%s: %s is not translated: %q", language, name, text)
			}
		}
		for name, text := range texts(t, *pages[i]) {
			if text == "" || strings.ContainsAny(text, "{}<>&\"") || i > 0 && text == texts(t, *pages[0])[name] {
				t.Errorf("%s: %s is %q", language, name, text)
			}
		}
		for n := range int64(300) {
			if form := catalogs[i].plural(n); !used[formNames[form]] {
				t.Errorf("%s: the plural rule gives the form %s for %d, which is not one of its forms", language, formNames[form], n)
			}
		}
		for _, f := range catalogs[i].forms {
			if !slices.ContainsFunc(make([]struct{}, 300), func() func(struct{}) bool {
				n := int64(-1)
				return func(struct{}) bool { n++; return catalogs[i].plural(n) == f }
			}()) {
				t.Errorf("%s: no number has the form %s", language, formNames[f])
			}
		}
		n := catalogs[i].numbers
		if placeholders(n.percent) != "n" || placeholders(n.money) != "n symbol" || n.decimal == "" || n.group == "" || n.grouped < 4 || len(n.symbols)%2 != 0 {
			t.Errorf("%s: numbers %+v", language, n)
		}
	}
}

// The default invitations pass the check of a program's own ones.
func TestCatalog_InvitationsAreValid(t *testing.T) {
	for i, language := range Languages {
		for _, friend := range []Offer{{}, {Kind: "CREDIT", Value: Value{Amount: 1, Currency: "USD"}}} {
			if err := catalogs[i].invitation(friend).Check("x"); err != nil {
				t.Errorf("%s: %v", language, err)
			}
		}
	}
}
