package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/tidwall/gjson"

	"kith/backend/api"
	"kith/backend/graphql"
	"kith/core"
	"kith/core/wire"
)

type apiCommand struct {
	databaseFlags
	fileFlags
	answerFlags
	Tenant core.TenantAlias `env:"KITH_TENANT" help:"Alias of the tenant. Only --describe needs none." placeholder:"ALIAS"`

	URL      string   `env:"KITH_URL" help:"URL of a service, to call it with an API key. Default: the call is made on the database, as the operator." placeholder:"URL"`
	Key      string   `env:"KITH_KEY" help:"With --url: API key of the tenant." placeholder:"KEY"`
	Input    string   `help:"File with the body; - is the standard input. Fields change it." placeholder:"FILE"`
	Header   []string `sep:"none" help:"Header of the call, such as 'Idempotency-Key: reward-1042'. May be repeated." placeholder:"'NAME: VALUE'"`
	All      bool     `help:"Fetch all pages of a list."`
	Describe bool     `help:"Print what the call does, its parameters and the values of its body, and make no call. Without PATH: the paths of the method."`
	Columns  []string `help:"Print a list as a table with these values of each element, such as id,user.email." placeholder:"PATHS"`
	Value    string   `help:"Print one value of the answer as text, such as secret or users.0.email." placeholder:"PATH"`
	Method   string   `arg:"" help:"GET, POST, PUT or DELETE."`
	Path     string   `arg:"" optional:"" help:"Path after /api/v1/TENANT, such as /programs."`
	Field    []string `arg:"" optional:"" help:"NAME=VALUE: a parameter of GET and DELETE, else a value of the body."`
}

// Help explains fields.
func (apiCommand) Help() string {
	return `Makes a call of the API and prints its answer, also if it is an error: then the message is on the error output, and the exit status is 1. --describe says what a call does: kith api GET --describe lists the paths, and kith api PUT /programs/classic --describe explains one. On the database no service need run; give it the variables of the backend, such as KITH_PUBLIC_URL and KITH_TEMP_DOMAINS. What the call leaves to workers, such as webhooks and jobs, is done by a running backend, or when one starts.

A field is NAME=VALUE. Where PATH has {NAME}, the value is put in, and encoded: kith api DELETE '/subscription/{endpointUrl}' endpointUrl=https://shop.example/hook. Otherwise it is a parameter of the query in GET and DELETE, and a value of the JSON body in POST and PUT. There a NAME with points is a value in an object, and NAME[] adds to a list. A VALUE is a number, true, false, null, an object or an array if it is JSON, else text; '"42"' is the text 42. @FILE is the text of a file, and in a list each of its lines; @- is the standard input. A PUT replaces what it names, and the objects in it; kith program set changes single settings.`
}

// answer is a response: JSON is kept, and other content goes to out as it comes.
type answer struct {
	out    io.Writer
	header http.Header
	status int
	json   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) { a.status = cmp.Or(a.status, status) }

func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.status < 300 && !strings.HasPrefix(a.header.Get("Content-Type"), wire.JSONType) {
		return a.out.Write(b)
	}
	return a.json.Write(b)
}

// Run makes the call and prints its answer.
func (c *apiCommand) Run(e *env) error {
	c.Method = strings.ToUpper(c.Method)
	if !slices.Contains(apiMethods, c.Method) {
		return core.Invalid("method", "must be GET, POST, PUT or DELETE")
	}
	if c.All && c.Method != http.MethodGet {
		return core.Invalid("all", "is for GET")
	}
	document, err := api.OpenAPI()
	if err != nil {
		return err
	}
	if c.Describe && c.Path == "" {
		return listCalls(e.out, document, c.Method)
	}
	if !strings.HasPrefix(c.Path, "/") {
		return core.Invalid("path", "must begin with /, such as /programs; kith api "+c.Method+" --describe lists the paths")
	}
	described, found := findCall(document, c.Method, c.Path)
	switch {
	case !found && c.Describe:
		return core.NotFound("there is no " + c.Method + " " + c.Path + "; kith api " + c.Method + " --describe lists the paths")
	case c.Describe:
		return described.print(e.out)
	}
	if c.Tenant == "" {
		return core.Invalid("tenant", "is required: give the alias of the tenant by --tenant (KITH_TENANT)")
	}
	path, query, body, err := c.fields()
	if err == nil && found {
		err = described.check(query, body)
	}
	if err != nil {
		return err
	}
	send, end, err := c.sender(e)
	if err != nil {
		return err
	}
	defer end()
	target := strings.Replace(tenantPath, "{tenant}", string(c.Tenant), 1) + path
	first, err := c.call(e, send, target, query, body)
	if err != nil {
		return err
	}
	if c.All {
		if first, err = c.further(e, send, target, query, first); err != nil {
			return err
		}
	}
	return c.print(e.out, first)
}

// fields returns the path, the query and the body, or nil, that the flags give.
func (c *apiCommand) fields() (path string, query url.Values, body []byte, err error) {
	path, text, _ := strings.Cut(c.Path, "?")
	if query, err = url.ParseQuery(text); err != nil {
		return "", nil, nil, core.Invalid("path", "has a query that cannot be read; give it as fields")
	}
	if c.Input != "" {
		if body, err = readInput("input", c.Input); err != nil {
			return "", nil, nil, err
		}
	}
	rest := c.Field[:0:0]
	for _, field := range c.Field {
		name, value, err := splitField(field)
		if err != nil {
			return "", nil, nil, err
		}
		switch place := "{" + name + "}"; {
		case strings.Contains(path, place):
			path = strings.ReplaceAll(path, place, url.PathEscape(value))
		case c.Method == http.MethodGet || c.Method == http.MethodDelete:
			query.Add(name, value)
		default:
			rest = append(rest, field)
		}
	}
	if strings.ContainsAny(path, "{}") {
		return "", nil, nil, core.Invalid("path", path+" has a {NAME} that no field gives")
	}
	if len(rest) > 0 {
		var fields []field
		if fields, err = parseFields(rest, c.Input); err == nil {
			body, err = withFields(body, fields)
		}
	}
	return path, query, body, err
}

// sender returns the function that sends requests, and one that ends it.
func (c *apiCommand) sender(e *env) (send func(http.ResponseWriter, *http.Request) error, end func(), err error) {
	switch {
	case c.URL == "" && c.Key != "":
		return nil, nil, core.Invalid("key", "needs --url (KITH_URL); without both the call is made on the database, as the operator")
	case c.URL != "":
		if c.Key == "" {
			return nil, nil, core.Invalid("key", "is required with --url: the API key of the tenant (KITH_KEY)")
		}
		return c.remote, func() {}, checkURL("url", c.URL)
	}
	if err := errors.Join(c.answerFlags.check(), c.fileFlags.check(e, c.Data)); err != nil {
		return nil, nil, err
	}
	engine, err := c.open(e)
	if err != nil {
		return nil, nil, err
	}
	end = func() { _ = engine.DB.Close() }
	err = errors.Join(c.answerFlags.apply(engine), c.fileFlags.apply(e, engine, c.Data))
	graph, graphErr := graphql.New(engine, e.log, false)
	if err = cmp.Or(err, graphErr); err != nil {
		end()
		return nil, nil, err
	}
	asleep := func() {}
	engine.Events.Wake, engine.Gateways.Wake, engine.Jobs.Wake = asleep, asleep, asleep
	handler := (&api.API{Engine: engine, GraphQL: graph, PortalURL: c.PortalURL, Operator: true, Log: e.log}).Handler()
	return func(w http.ResponseWriter, r *http.Request) error {
		handler.ServeHTTP(w, r)
		return nil
	}, end, nil
}

// remote sends a request to a service.
func (c *apiCommand) remote(w http.ResponseWriter, r *http.Request) error {
	target, err := url.Parse(strings.TrimSuffix(c.URL, "/") + r.URL.RequestURI())
	if err != nil {
		return core.Invalid("url", "must be a URL, such as http://127.0.0.1:8080")
	}
	r.URL = target
	r.SetBasicAuth("", c.Key)
	response, err := http.DefaultClient.Do(r) // #nosec G704 -- the operator names the service
	if err != nil {
		return unanswered(err)
	}
	defer response.Body.Close()
	maps.Copy(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	_, err = io.Copy(w, response.Body)
	return err
}

// unanswered returns err, the failure of a call to --url, with the remedy if nothing accepts
// connections there.
func unanswered(err error) error {
	if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
		return &core.Error{Code: core.CodeUnavailable, Field: "url", Message: "no service answers there; start kith serve, or give its URL (KITH_URL)", Err: err}
	}
	return err
}

// call makes one call and returns the JSON of its answer. Other content is printed.
func (c *apiCommand) call(e *env, send func(http.ResponseWriter, *http.Request) error, path string, query url.Values, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(e.ctx, c.Method, path, bytes.NewReader(body))
	if err != nil {
		return nil, core.Invalid("path", "must be a path, such as /programs")
	}
	r.URL.RawQuery = query.Encode()
	if body != nil {
		r.Header.Set("Content-Type", wire.JSONType)
	}
	for _, header := range c.Header {
		name, value, ok := strings.Cut(header, ":")
		if !ok {
			return nil, core.Invalid("header", "must be 'NAME: VALUE'")
		}
		r.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	got := &answer{out: e.out, header: http.Header{}}
	if err := send(got, r); err != nil {
		return nil, err
	}
	said := got.json.Bytes()
	message := cmp.Or(gjson.GetBytes(said, "message").String(), gjson.GetBytes(said, "errors.0.message").String())
	switch isGraphQL := strings.HasSuffix(path, "/graphql"); {
	case got.status >= 300:
		message = cmp.Or(message, http.StatusText(got.status))
	case !isGraphQL || !gjson.GetBytes(said, "errors.0").Exists():
		return said, nil
	}
	// Programs read the code of an error.
	if err := printJSON(e.out, said); err != nil {
		return nil, err
	}
	if strings.HasSuffix(message, "must be a string") {
		message += `; '"42"' is the text 42`
	}
	return nil, errors.New(message)
}

// listOf returns the elements of an answer that is a list or a page of one, and their name, which
// is @this for a list.
func listOf(body []byte) (name string, elements []gjson.Result) {
	whole := gjson.ParseBytes(body)
	if whole.IsArray() {
		return "@this", whole.Array()
	}
	whole.ForEach(func(key, value gjson.Result) bool {
		if value.IsArray() {
			name, elements = key.String(), value.Array()
		}
		return name == ""
	})
	return name, elements
}

// further fetches the pages after the first, and returns the list as one answer.
func (c *apiCommand) further(e *env, send func(http.ResponseWriter, *http.Request) error, path string, query url.Values, first []byte) ([]byte, error) {
	name, all := listOf(first)
	total := gjson.GetBytes(first, "totalCount")
	if name == "" || !total.Exists() {
		return nil, core.Invalid("all", "is for lists with a totalCount, which this answer is not")
	}
	begin, err := strconv.Atoi(cmp.Or(query.Get("offset"), "0"))
	if err != nil {
		return nil, err // the API has refused it
	}
	for begin += len(all); int64(begin) < total.Int(); {
		query.Set("offset", strconv.Itoa(begin))
		page, err := c.call(e, send, path, query, nil)
		if err != nil {
			return nil, err
		}
		_, more := listOf(page)
		if len(more) == 0 || gjson.GetBytes(page, "totalCount").Int() != total.Int() {
			return nil, errors.New("the list changed while it was read, or the limit is 0: call again")
		}
		all, begin = append(all, more...), begin+len(more)
	}
	items := make([]json.RawMessage, len(all))
	for i, item := range all {
		items[i] = json.RawMessage(item.Raw)
	}
	return json.Marshal(map[string]any{"count": len(items), "totalCount": total.Int(), name: items})
}

// print prints JSON indented, or the columns of a list, or one value. If the answer has none of
// these it prints all of it, since the call was made and may have made a secret.
func (c *apiCommand) print(out io.Writer, body []byte) error {
	value, lacks := gjson.GetBytes(body, c.Value), ""
	name, elements := listOf(body)
	switch {
	case c.Value != "" && value.Exists():
		_, err := fmt.Fprintln(out, strings.TrimSuffix(printable(value.String()), "\n"))
		return err
	case c.Value != "":
		lacks = c.Value
	case len(c.Columns) > 0 && name == "":
		lacks = "list"
	case len(c.Columns) > 0 && len(elements) > 0:
		for _, path := range c.Columns {
			if !slices.ContainsFunc(elements, func(e gjson.Result) bool { return mayHave(e, path) }) {
				lacks = "column " + path
			}
		}
	}
	if lacks != "" || len(c.Columns) == 0 {
		err := printJSON(out, body)
		if err == nil && lacks != "" {
			err = errors.New("the call was made; its answer, above, has no " + lacks)
		}
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(c.Columns, "\t"))
	for _, element := range elements {
		cells := make([]string, len(c.Columns))
		for i, path := range c.Columns {
			cells[i] = strings.Join(strings.Fields(printable(element.Get(path).String())), " ")
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// mayHave reports whether an element has a value at a path, or null in place of an object on it:
// referredBy is null for a user without a referral.
func mayHave(element gjson.Result, path string) bool {
	if element.Get(path).Exists() {
		return true
	}
	dot := strings.LastIndexByte(path, '.')
	return dot > 0 && element.Get(path[:dot]).Type == gjson.Null && mayHave(element, path[:dot])
}

// printable returns a text without control characters but line breaks and tabs: a user may have
// typed it, and a terminal obeys them.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return '\uFFFD'
		}
		return c
	}, text)
}

// readable replaces the escapes that JSON needs in a web page only, and escapes the control
// characters that JSON has as they are.
var readable = func() *strings.Replacer {
	pairs := []string{`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&"}
	for c := '\u007f'; c <= '\u009f'; c++ {
		pairs = append(pairs, string(c), fmt.Sprintf(`\u%04x`, c))
	}
	return strings.NewReplacer(pairs...)
}()

func printJSON(out io.Writer, body []byte) error {
	if len(body) == 0 {
		return nil
	}
	var text bytes.Buffer
	if err := json.Indent(&text, body, "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, readable.Replace(text.String()))
	return err
}
