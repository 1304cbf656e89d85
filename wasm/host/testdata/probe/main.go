// Probe is a guest for the host's tests. Each path does one thing and returns what it
// observed. It does not depend on Kith's rules.
package main

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fermyon/spin/sdk/go/v2/variables"

	"kith/edge/abi"
)

func init() { abi.Handle(serve) }

func main() {}

// grown has the memory that /grow allocated, and iterations counts in /loop. They are
// package variables, so that the compiler cannot remove them.
var (
	grown      [][]byte
	iterations int
)

func serve(r *abi.Request) abi.Response {
	path, query, _ := strings.Cut(r.URI, "?")
	switch path {
	case "/echo":
		return echo(r)
	case "/respond":
		return respond(query)
	case "/sql":
		return runSQL(r)
	case "/kv":
		return keyValue(r, query)
	case "/send":
		return send(r, query)
	case "/variable":
		return variable(query)
	case "/clock":
		return text(200, strconv.FormatInt(time.Now().UnixMilli(), 10))
	case "/random":
		b := make([]byte, 16)
		abi.Random(b)
		return abi.Response{Status: 200, Body: b}
	case "/grow":
		n, _ := strconv.Atoi(query)
		grown = append(grown, make([]byte, n))
		return text(200, "grown")
	case "/print":
		print(strings.Repeat("x", len(r.Body)), "\nsecond line\n")
		return text(200, "printed")
	case "/trap":
		var none []int
		return text(200, strconv.Itoa(none[len(r.Body)]))
	case "/loop":
		print("for ever\n")
		for {
			iterations++
		}
	}
	return text(404, "no such path: "+r.URI)
}

// echo answers with the request: its headers with the prefix "echo-", its body, and
// its method and URI in headers of their own.
func echo(r *abi.Request) abi.Response {
	headers := []abi.Header{{"probe-method", r.Method}, {"probe-uri", r.URI}}
	for _, h := range r.Headers {
		headers = append(headers, abi.Header{"echo-" + h.Name, h.Value})
	}
	return abi.Response{Status: 200, Headers: headers, Body: r.Body}
}

// respond answers with the status, headers and body size in the query, as in
// status=201&header=Set-Cookie:a=1&header=Set-Cookie:b=2&size=10.
func respond(query string) abi.Response {
	values, err := url.ParseQuery(query)
	if err != nil {
		return text(400, err.Error())
	}
	status, _ := strconv.Atoi(values.Get("status"))
	size, _ := strconv.Atoi(values.Get("size"))
	response := abi.Response{Status: status, Body: make([]byte, size)}
	for _, h := range values["header"] {
		name, value, _ := strings.Cut(h, ":")
		response.Headers = append(response.Headers, abi.Header{name, value})
	}
	for i := range response.Body {
		response.Body[i] = 'b'
	}
	return response
}

// runSQL runs the statement in the body on the database named by the header "database",
// with a parameter for each header "param", such as "i:1" or "t:x".
func runSQL(r *abi.Request) abi.Response {
	db, err := abi.OpenDB(header(r, "database"))
	if err != nil {
		return text(500, err.Error())
	}
	var params []abi.Value
	for _, h := range r.Headers {
		if h.Name == "param" {
			params = append(params, parseValue(h.Value))
		}
	}
	if header(r, "closed") != "" {
		db.Close()
	}
	rows, err := db.Execute(string(r.Body), params...)
	if err != nil {
		return text(500, err.Error())
	}
	return text(200, render(rows))
}

func parseValue(s string) abi.Value {
	kind, data, _ := strings.Cut(s, ":")
	switch kind {
	case "i":
		n, _ := strconv.ParseInt(data, 10, 64)
		return abi.Int(n)
	case "r":
		f, _ := strconv.ParseFloat(data, 64)
		return abi.Float(f)
	case "t":
		return abi.Text(data)
	case "b":
		return abi.Blob([]byte(data))
	}
	return abi.Null()
}

// render writes the columns and then a line per row, with values in the form of the
// header "param".
func render(rows abi.Rows) string {
	out := strings.Join(rows.Columns, ",") + "\n"
	for _, row := range rows.Values {
		for _, v := range row {
			out += renderValue(v) + ";"
		}
		out += "\n"
	}
	return out
}

func renderValue(v abi.Value) string {
	switch v.Kind() {
	case abi.KindInteger:
		return "i:" + strconv.FormatInt(v.Int64(), 10)
	case abi.KindReal:
		return "r:" + strconv.FormatFloat(v.Float64(), 'g', -1, 64)
	case abi.KindText:
		return "t:" + v.String()
	case abi.KindBlob:
		return "b:" + string(v.Bytes())
	}
	return "null"
}

// send sends the request to the URL in the query, with its headers whose names begin with
// "x-", and returns the response.
func send(r *abi.Request, target string) abi.Response {
	var headers []abi.Header
	for _, h := range r.Headers {
		if strings.HasPrefix(h.Name, "x-") {
			headers = append(headers, h)
		}
	}
	response, err := abi.Send(r.Method, target, headers, r.Body)
	if err != nil {
		return text(502, err.Error())
	}
	return response
}

// keyValue opens the store named by the header "store", and returns the value of the key
// in the query, or sets it to the body of a PUT.
func keyValue(r *abi.Request, key string) abi.Response {
	store, err := abi.OpenStore(header(r, "store"))
	if err != nil {
		return text(500, err.Error())
	}
	if r.Method == "PUT" {
		if err := store.Set(key, string(r.Body)); err != nil {
			return text(500, err.Error())
		}
	}
	value, err := store.Get(key)
	if err != nil {
		return text(500, err.Error())
	}
	return text(200, value)
}

func variable(name string) abi.Response {
	value, err := variables.Get(name)
	if err != nil {
		return text(500, "error: "+err.Error())
	}
	return text(200, value)
}

func header(r *abi.Request, name string) string {
	for _, h := range r.Headers {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

func text(status int, body string) abi.Response {
	return abi.Response{
		Status:  status,
		Headers: []abi.Header{{"content-type", "text/plain"}},
		Body:    []byte(body),
	}
}
