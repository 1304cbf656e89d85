package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// mall is a site with shops on other host names than that of the edge.
type mall struct {
	*site
	// shop and kith are base URLs with names below .example, which the browser resolves
	// to this machine.
	shop, kith string
	// tokens are user tokens by "account user".
	tokens map[string]string
	// snippets are pieces of script by name, for scenarios that run what a document
	// shows.
	snippets map[string]string
}

// browserLibraries is the folder of the npm packages of these tests.
const browserLibraries = "browser/node_modules"

// newMall starts `kith dev` with the tenants shop, optin and optout, in the first
// of which Anna referred Bert and Carl.
func newMall(t *testing.T) *mall {
	t.Helper()
	m := &mall{site: newSite(t), tokens: map[string]string{}}
	m.kith = named("kith.example", m.edge)
	pages := httptest.NewServer(shopPages(m.kith))
	t.Cleanup(pages.Close)
	m.shop = named("shop.example", pages.URL)
	m.dev(t, "KITH_PUBLIC_URL="+m.kith)
	m.createTenant(t, "shop", "--landing-url", m.shop+"/landing", "--cookie-life", "168h", "--origin", named("www.shop.example", pages.URL))
	m.createTenant(t, "optin", "--landing-url", m.shop+"/optin", "--consent", "opt-in", "--consent-cookie", "agreed")
	m.createTenant(t, "optout", "--landing-url", m.shop+"/optout", "--consent", "opt-out", "--consent-cookie", "agreed")
	for _, tenant := range []string{"shop", "optin", "optout"} {
		m.identify(t, m.backend, tenant, "anna", `{"firstName":"Anna","referralCode":"ANNA10"}`)
	}
	for _, friend := range []string{"Carl", "Bert"} {
		m.identify(t, m.backend, "shop", "x"+friend, `{"firstName":"`+friend+`","lastName":"`+friend+`son","referredByCodes":["ANNA10"]}`)
	}
	for _, ids := range []string{"anna anna", "ben@x.example b/1", "carl carl", "dora dora"} {
		account, user, _ := strings.Cut(ids, " ")
		out, errOut, status := m.run(t, nil, "token", "--tenant", "shop", "--account", account, "--user", user)
		require.Zero(t, status, errOut)
		m.tokens[ids] = strings.TrimSpace(out)
	}
	return m
}

// named returns a base URL with another host name.
func named(host, base string) string {
	u, err := url.Parse(base)
	if err != nil {
		panic(err)
	}
	u.Host = net.JoinHostPort(host, u.Port())
	return u.String()
}

// shopPages are the pages of the shops.
func shopPages(kith string) http.Handler {
	const form = `<form><input id="code" oninput="window.input=true"></form><p id="seen"></p>`
	script := func(base string) string { return `<script async src="` + base + `/kith.js"></script>` }
	with := func(tenant string) string {
		return form + `<script>_sqh = window._sqh || [];
			_sqh.push(['init', {tenant_alias: '` + tenant + `'}], ['autofill', '#code'],
				['autofill', function (code) { seen.textContent = 'code: ' + code }]);</script>`
	}
	pages := map[string]string{
		"/landing": script(kith) + with("shop"),
		"/optin":   script(kith) + strings.Replace(with("optin"), "['autofill', '#code'],", "", 1),
		"/optout":  script(kith) + strings.Replace(with("optout"), "['autofill', '#code'],", "", 1),
		"/plain":   strings.Replace(script(kith), " async", "", 1),
		"/twice":   script(kith) + script(kith) + with("shop"),
		"/queue": `<script>_sqh = [function () { window.done = ['first'] }, ['open'], ['close'], ['subscribe', 'x', function () {}], ['nothing'], 'x', null, 7];
			_sqh.push(function () { window.done.push('second') }, ['autofill', function (code) { window.done.push('code ' + code) }], ['init', {tenant_alias: 'shop'}]);</script>` + script(kith),
		"/client":    reactModules + clientPage,
		"/client-18": react18 + clientPage,
		"/react":     reactForm + `<script>_sqh = [['init', {tenant_alias: 'shop'}], ['autofill', '#code'], ['autofill', function (code) { window.given = code }]]</script>` + script(kith),
		"/sandboxed": sandboxed + script(kith),
		"/stripe":    stripePage + script(kith),
		"/empty":     "",
		"/isolated":  "",
		// The script is served, but the service does not answer.
		"/down":        strings.Replace(with("shop"), "tenant_alias:", "account_id: 'a', user_id: 'u', domain: 'http://down.example:9', tenant_alias:", 1) + script(kith),
		"/sdk":         form + `<div id="squatchembed"></div><script src="/@saasquatch/squatch-js/dist/squatch.min.js"></script>`,
		"/declarative": `<squatch-embed widget="p/classic/w/referrerWidget"></squatch-embed><script src="/@saasquatch/squatch-js/dist/squatch.min.js"></script>`,
		"/sdk-2.4":     form + `<div id="squatchembed"></div><script src="/squatch-js-2.4/dist/squatch.min.js"></script>`,
	}
	libraries := http.FileServer(http.Dir(browserLibraries))
	client := http.StripPrefix("/@kith/client/", http.FileServer(http.Dir(filepath.Join(npmClient, "dist"))))
	older := http.StripPrefix("/@kith/", http.FileServer(http.Dir(filepath.Join(npmClient, "node_modules"))))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		switch {
		case strings.HasPrefix(r.URL.Path, "/@kith/client/"):
			client.ServeHTTP(w, r)
			return
		case strings.HasPrefix(r.URL.Path, "/@kith/"):
			older.ServeHTTP(w, r)
			return
		case !ok:
			libraries.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/isolated" {
			w.Header().Set("Cross-Origin-Embedder-Policy", "require-corp")
		}
		fmt.Fprintf(w, "<!doctype html><html><head><title>Shop</title></head><body>%s</body></html>", page)
	})
}

// reactModules defines require. React has no file for script elements, so its modules are
// read as Node would.
const reactModules = `<div id="root"></div><script>
	const files = { react: 'react/cjs/react', 'react-dom': 'react-dom/cjs/react-dom', 'react-dom/client': 'react-dom/cjs/react-dom-client', scheduler: 'scheduler/cjs/scheduler' };
	const loaded = {};
	function require(name) {
		if (loaded[name]) return loaded[name];
		const request = new XMLHttpRequest();
		request.open('GET', '/' + files[name] + '.production.js', false);
		request.send();
		new Function('require', 'exports', request.responseText)(require, loaded[name] = {});
		return loaded[name];
	}
</script>`

// reactForm is a React component with a controlled input. show(true) shows it, and
// show(TEXT) shows it with a text.
const reactForm = reactModules + `<script>
	const { createElement, useState } = require('react');
	function Form({ text }) {
		const [value, setValue] = useState(text);
		return [createElement('input', { key: 1, id: 'code', value, onChange: (event) => setValue(event.target.value) }),
			createElement('p', { key: 2, id: 'state' }, 'state: ' + value)];
	}
	const root = require('react-dom/client').createRoot(document.querySelector('#root'));
	function show(text) {
		require('react-dom').flushSync(() => root.render(createElement(Form, { text: text === true ? '' : text })));
	}
</script>`

// sandboxed is a page for a sandboxed frame. It reports to its parent what throws there,
// and what kith.js gave it.
const sandboxed = `<input id="code"><script>
	const result = {};
	for (const [name, read] of [['cookie', () => document.cookie], ['localStorage', () => window.localStorage]]) {
		try { read(); result[name] = ''; } catch (e) { result[name] = e.name; }
	}
	_sqh = [['init', {tenant_alias: 'shop', account_id: 'a', user_id: 'u', jwt: 'x'}], ['consent'], ['autofill', '#code'], function () { result.consent = true },
		['autofill', function (code) { result.code = code; parent.postMessage(result, '*') }]];
</script>`

// stripePage has payment links and a pricing table, which keeps what it read when it was
// inserted, as Stripe's does.
const stripePage = `<script>customElements.define('stripe-pricing-table', class extends HTMLElement {
		connectedCallback() { this.read = this.getAttribute('client-reference-id'); }
	})</script>
	<a id="link" href="https://buy.stripe.com/test_abc?locale=de#pay">Buy</a> <a id="own" href="https://buy.stripe.com/test_abc?client_reference_id=order-7">Buy</a>
	<a class="buy" href="https://pay.shop.example/b/1">Buy</a> <a id="other" href="https://shop.example/about">About</a> <a id="none">None</a>
	<stripe-pricing-table id="table" pricing-table-id="prctbl_1"></stripe-pricing-table>
	<stripe-pricing-table id="taken" client-reference-id="order-7"></stripe-pricing-table>
	<script>_sqh = [['init', {tenant_alias: 'shop'}], ['stripe'], ['autofill', function (code) { window.given = code }]]</script>`

// play runs scenarios of browser/FILE.mjs, each as a subtest.
func (m *mall) play(t *testing.T, file string, scenarios ...string) {
	t.Helper()
	runInBrowser(t, file, map[string]any{
		"shop": m.shop, "kith": m.kith, "backend": m.backend, "key": m.keys["shop"], "tokens": m.tokens, "snippets": m.snippets,
	}, scenarios...)
}

// ending is how a scenario ended: the error, or "", and the numbers that it returned.
type ending struct {
	Name, Error string
	Result      map[string]float64
}

// runInBrowser runs scenarios of browser/FILE.mjs, each as a subtest.
func runInBrowser(t *testing.T, file string, params map[string]any, scenarios ...string) {
	t.Helper()
	for _, o := range endingsInBrowser(t, file, params, scenarios...) {
		t.Run(o.Name, func(t *testing.T) { require.Empty(t, o.Error) })
	}
}

// endingsInBrowser runs scenarios of browser/FILE.mjs.
func endingsInBrowser(t testing.TB, file string, params map[string]any, scenarios ...string) []ending {
	t.Helper()
	for _, library := range []string{"playwright-core/package.json", "axe-core/axe.min.js"} {
		require.FileExists(t, filepath.Join(browserLibraries, library), "run make test")
	}
	// Chromium without the windows of a desktop, which took two thirds of its time.
	chromium, err := exec.LookPath("chromium-headless-shell")
	require.NoError(t, err, "wasm/toolchain/setup.sh test installs it")
	params["chromium"] = chromium
	input, err := json.Marshal(params)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "node", append([]string{"run.mjs", file}, scenarios...)...)
	command.Dir, command.Stdin, command.Env = "browser", bytes.NewReader(input), append(os.Environ(), "HOME="+t.TempDir())
	var errOut bytes.Buffer
	command.Stderr = &errOut
	out, err := command.Output()
	require.NoError(t, err, "%s%s", out, errOut.String())
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, lines, len(scenarios))
	endings := make([]ending, len(lines))
	for i, line := range lines {
		require.NoError(t, json.Unmarshal([]byte(line), &endings[i]), line)
		require.Equal(t, scenarios[i], endings[i].Name)
	}
	return endings
}

// The browser script works in a page as its header describes.
func TestBrowser_Script(t *testing.T) {
	t.Parallel()
	m := newMall(t)
	m.snippets = map[string]string{"script": blockWith(t, readDocument(t, guide), "html", "integrity")}
	m.play(t, "kith", "init", "queue", "twice", "shareLink", "countedWithoutParameter", "merge", "hostileParameter", "optIn", "optOut",
		"privacySignals", "down", "pageThrows", "refused", "unknownCode", "reactInput", "typedValue", "lateInput", "noInput", "sandboxedFrame", "integrity", "stripeLinks", "stripeOwnDomain", "stripeRefused")
}

// The unmodified SDK of existing clients works against the service.
func TestBrowser_SquatchJS(t *testing.T) {
	t.Parallel()
	m := newMall(t)
	_, errOut, status := m.run(t, nil, "tenant", "set", "shop", "--squatch-parameter", "on")
	require.Zero(t, status, errOut)
	m.play(t, "squatch", "upsert", "popup", "ownTemplate", "events", "refused", "otherOrigin", "autofill",
		"render", "declarative", "attribution")
}

// The pages that describe the API work in a browser that reaches nothing but the edge.
func TestBrowser_Docs(t *testing.T) {
	t.Parallel()
	newMall(t).play(t, "docs", "rest", "graphql")
}
