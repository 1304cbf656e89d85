package widget

import (
	"errors"
	"strings"
	"testing"

	"kith/core"
)

func TestParseType(t *testing.T) {
	for given, want := range map[string]Type{
		"":                                 {First: true, Key: Referrer},
		"REFERRER_WIDGET":                  {First: true, Key: Referrer},
		"CONVERSION_WIDGET":                {First: true, Key: Conversion},
		"p/classic/w/referrerWidget":       {Program: "classic", Key: Referrer},
		"p/Spring-26/w/a.b_c-D":            {Program: "Spring-26", Key: "a.b_c-D"},
		"p/spring%2D26/w/referrer%57idget": {Program: "spring-26", Key: Referrer},
		"w/partners":                       {Key: "partners"},
	} {
		got, err := ParseType("widgetType", given)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", given, got, err)
		}
		in := got.In("first")
		if again, err := ParseType("widgetType", in.String()); err != nil || again != in || got.First != (in.Program == "first") {
			t.Errorf("%q is %+v in the first program, and formatted as %q", given, in, in.String())
		}
	}
	for _, given := range []string{
		"invalid", "referrer_widget", "p/", "p/classic", "p/classic/w", "p/classic/w/", "p//w/x", "w/", "w", "/w/x",
		"p/a b/w/x", "p/a%2Fb/w/x", "p/a/w/b/c", "p/a/w/%zz", "p/%zz/w/x", "w/<x>", "w/a%00", "w/" + strings.Repeat("k", 65),
		"p/" + strings.Repeat("k", 65) + "/w/x", "P/a/w/b",
	} {
		got, err := ParseType("widgetType", given)
		var e *core.Error
		if !errors.As(err, &e) || e.Code != core.CodeInvalid || e.RS != "RS036" || e.Field != "widgetType" || got != (Type{}) {
			t.Errorf("%q: %+v, %v", given, got, err)
		}
	}
}

const page = "<!doctype html><html><head></head><body></body></html>"

func TestStored_Check(t *testing.T) {
	for _, good := range []Stored{
		{}, {Template: page}, {Template: "\ufeff\r\n<!DOCTYPE HTML><title>x</title></HEAD>"},
		{Template: page + strings.Repeat(" ", MaxTemplate-len(page)), Options: "{}", Branding: strings.Repeat(" ", MaxOptions)},
	} {
		if err := good.Check(); err != nil {
			t.Errorf("%.40q: %v", good.Template, err)
		}
	}
	for _, c := range []struct {
		bad   Stored
		field string
	}{
		{Stored{Template: "x"}, "template"},
		{Stored{Template: "<html></head>"}, "template"},
		{Stored{Template: "<!doctype html><body>"}, "template"},
		{Stored{Template: "x " + page}, "template"},
		{Stored{Template: page + "\xff"}, "template"},
		{Stored{Template: page + "\x00"}, "template"},
		{Stored{Template: page + strings.Repeat(" ", MaxTemplate-len(page)+1)}, "template"},
		{Stored{Options: strings.Repeat(" ", MaxOptions+1)}, "jsOptions"},
		{Stored{Branding: strings.Repeat(" ", MaxOptions+1)}, "brandingConfig"},
		{Stored{Values: strings.Repeat(" ", MaxOptions+1)}, "values"},
	} {
		var e *core.Error
		if err := c.bad.Check(); !errors.As(err, &e) || e.Field != c.field || e.Code != core.CodeInvalid {
			t.Errorf("%.40q: %v", c.bad.Template, err)
		}
	}
}

func TestWithScript(t *testing.T) {
	for given, want := range map[string]string{
		"<head><title>x</title></head></head>": "<head><title>x</title><script>f()</script>\n</head></head>",
		"<head></HEAD >":                       "<script>f()</script>\n<head></HEAD >",
		"<head></Head>":                        "<head><script>f()</script>\n</Head>",
	} {
		if got := WithScript(given, "f()"); got != want {
			t.Errorf("%q: %q", given, got)
		}
	}
}
