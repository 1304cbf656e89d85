package main

import (
	"fmt"
	"io"
	"os"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/widgets"
	"kith/core/widget"
	"kith/core/wire"
)

type widgetCommand struct {
	Set    widgetSetCommand    `cmd:"" help:"Store a tenant's own template and options of a widget."`
	Show   widgetShowCommand   `cmd:"" help:"Print the template of a widget: the stored one, or else the default."`
	List   widgetListCommand   `cmd:"" help:"Print the types of the stored widgets."`
	Remove widgetRemoveCommand `cmd:"" help:"Delete what is stored of a widget. The default is used again."`
}

// widgetFlags name a widget.
type widgetFlags struct {
	tenantFlags
	Type string `default:"REFERRER_WIDGET" help:"Type of the widget: p/PROGRAM/w/KEY, w/KEY, REFERRER_WIDGET or CONVERSION_WIDGET."`
}

// openWidget parses the type and opens the database, which the caller must close.
func (f *widgetFlags) openWidget(e *env) (*app.Engine, widget.Type, error) {
	t, err := widget.ParseType("type", f.Type)
	if err != nil {
		return nil, t, err
	}
	engine, err := f.openTenant(e)
	return engine, t, err
}

type widgetSetCommand struct {
	widgetFlags
	Template  string `arg:"" optional:"" help:"File with a complete HTML document; - is the standard input. Without it the template stays as it is." placeholder:"FILE"`
	Values    string `help:"File with a JSON object that the template reads as kith.values. The default template reads title, text, empty, color and theme." placeholder:"FILE"`
	JSOptions string `help:"File with the JSON object that the browser SDK reads as jsOptions." placeholder:"FILE"`
	Branding  string `help:"File with the JSON object that the browser SDK reads as brandingConfig." placeholder:"FILE"`
}

// Run stores the given parts of the widget and does not change the others.
func (c *widgetSetCommand) Run(e *env) error {
	update, err := c.update()
	if err != nil {
		return err
	}
	engine, t, err := c.openWidget(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	_, err = engine.Widgets.Put(e.ctx, c.Tenant, t, update)
	return err
}

func (c *widgetSetCommand) update() (u wire.WidgetUpdate, err error) {
	if u.Template, err = readGiven(c.Template, widget.MaxTemplate); err != nil {
		return u, err
	}
	for _, part := range []struct {
		flag, file string
		into       **string
	}{{"values", c.Values, &u.Values}, {"js-options", c.JSOptions, &u.Options}, {"branding", c.Branding, &u.Branding}} {
		text, err := readGiven(part.file, widget.MaxOptions)
		if err != nil || text == nil {
			if err != nil {
				return u, err
			}
			continue
		}
		object, err := wire.ParseWidgetPart(part.flag, []byte(*text))
		if err != nil {
			return u, err
		}
		*part.into = &object
	}
	return u, nil
}

// readGiven reads a file, but at most one byte more than bound, so that the caller can
// detect that it is too long. It returns nil if no file is given.
func readGiven(name string, bound int64) (*string, error) {
	if name == "" {
		return nil, nil
	}
	file := os.Stdin
	if name != "-" {
		var err error
		if file, err = os.Open(name); err != nil {
			return nil, err
		}
		defer file.Close()
	}
	text, err := io.ReadAll(io.LimitReader(file, bound+1))
	s := string(text)
	return &s, err
}

type widgetShowCommand struct{ widgetFlags }

// Run prints the template as stored, so that it can be edited and stored again.
func (c *widgetShowCommand) Run(e *env) error {
	engine, t, err := c.openWidget(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	stored, err := engine.Widgets.Stored(e.ctx, c.Tenant, t)
	if err != nil {
		return err
	}
	if stored.Template == "" {
		stored.Template = widgets.DefaultTemplate
	}
	_, err = io.WriteString(e.out, stored.Template)
	return err
}

type widgetListCommand struct{ tenantFlags }

// Run prints one line for each stored widget.
func (c *widgetListCommand) Run(e *env) error {
	engine, err := c.openTenant(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	stored, _, err := engine.Widgets.List(e.ctx, c.Tenant, base.Page{Limit: widget.MaxPerTenant})
	for _, s := range stored {
		fmt.Fprintln(e.out, s.Type)
	}
	return err
}

type widgetRemoveCommand struct{ widgetFlags }

// Run deletes what is stored of the widget. It does nothing if nothing is stored.
func (c *widgetRemoveCommand) Run(e *env) error {
	engine, t, err := c.openWidget(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	return engine.Widgets.Delete(e.ctx, c.Tenant, t)
}
