package shop

import (
	"bytes"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"path"
	"strings"

	"kith/clients/go"
)

//go:embed page asset
var files embed.FS

// templates has the template of each page.
var templates = func() map[string]*template.Template {
	all := map[string]*template.Template{}
	entries, err := files.ReadDir("page")
	if err != nil {
		panic(err) // the files are part of the program
	}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".html")
		if name == "layout" {
			continue
		}
		all[name] = template.Must(template.New("layout.html").Funcs(template.FuncMap{"day": day}).ParseFS(files, "page/layout.html", "page/"+e.Name()))
	}
	return all
}()

// frame is what the layout of all pages shows.
type frame struct {
	Title, Page, Nonce, Path, Here, Portal, Developers, Tenant, URL string
	Known                                                           bool
	// Stripe is true if the shop is paid at Stripe.
	Stripe bool
	// Choice is the choice of the gateway, or nil if there is none.
	Choice   *choice
	Customer Customer
	// Behind is the panel "What happened behind this page".
	Behind bool
	// Calls are the calls, Earlier those of the form that led to the page.
	Earlier, Calls []Call
	Decisions      []Decision
	Data           map[string]any
}

// show shows a page without a panel of its own decisions.
func (v *visit) show(status int, page, title string, data map[string]any) error {
	return v.render(status, frame{Page: page, Title: title, Data: data})
}

// showBehind shows a page and what happened behind it: the calls that were kept for it,
// those that it made itself, and what Kith decided.
func (v *visit) showBehind(page, title, kept string, decisions []Decision, data map[string]any) error {
	f := frame{Page: page, Title: title, Data: data, Behind: true, Decisions: decisions, Calls: v.calls.all()}
	if kept != "" {
		f.Earlier = v.book.kept(kept)
	}
	return v.render(http.StatusOK, f)
}

func (v *visit) render(status int, f frame) error {
	f.Nonce, f.Path, f.Here, f.Portal, f.Developers, f.Tenant, f.URL = v.nonce, Path, v.r.URL.Path, v.Portal, v.Developers, v.tenant.Alias, v.tenant.URL
	f.Known, f.Customer, f.Stripe = v.known, v.customer, v.stripePays
	f.Choice = v.choice()
	var b bytes.Buffer
	if err := templates[f.Page].Execute(&b, f); err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(b.Bytes())
	return nil
}

// problem shows an error: the words of a refusal, and for all others what to do.
func (v *visit) problem(err error) {
	status, text := http.StatusBadGateway, "The shop could not reach Kith or the gateway. Look at the terminal of kith dev, and try again."
	var refused *refusal
	var byKith *kith.Error
	switch {
	case errors.As(err, &refused):
		status, text = http.StatusUnprocessableEntity, refused.text
	case errors.As(err, &byKith):
		text = "Kith refused a call of the shop: " + byKith.Message + ". The panel below has the call."
	}
	v.Log.Warn("demo shop", "path", v.r.URL.Path, "error", err)
	shown := v.render(status, frame{Page: "problem", Title: "That did not work", Data: map[string]any{"Text": text}, Behind: len(v.calls.all()) > 0, Calls: v.calls.all()})
	if shown != nil {
		http.Error(v.w, text, status)
	}
}

// assetTypes are the files that pages load.
var assetTypes = map[string]string{"shop.css": "text/css; charset=utf-8", "shop.js": "text/javascript; charset=utf-8"}

func asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	kind, ok := assetTypes[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	text, err := files.ReadFile(path.Join("asset", name))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(text) // #nosec G705 -- a file of the program
}
