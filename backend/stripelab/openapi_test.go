package stripelab_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/testenv"
)

const mockPath = "bin/tools/stripe-mock"

// document is the published OpenAPI document of the gateway.
type document struct {
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]*schema }
}

type operation struct {
	Responses map[string]struct {
		Content map[string]struct{ Schema *schema }
	}
}

// schema is the part of the document's schemas that describes answers.
type schema struct {
	Ref        string `json:"$ref"`
	AnyOf      []*schema
	Type       string
	Nullable   bool
	Enum       []any
	Required   []string
	Properties map[string]*schema
	// AdditionalProperties is false, or the schema of further properties.
	AdditionalProperties json.RawMessage
	Items                *schema
}

var published = sync.OnceValues(func() (*document, error) {
	path, err := testenv.Path(mockPath + ".openapi.json")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: run make %s", err, mockPath)
	}
	var d document
	return &d, json.Unmarshal(text, &d)
})

// operation returns the operation of a request, or nil.
func (d *document) operation(method, path string) *operation {
	parts := strings.Split(path, "/")
	best, literal := (*operation)(nil), -1
	for template, methods := range d.Paths {
		op, has := methods[strings.ToLower(method)]
		names := strings.Split(template, "/")
		if !has || len(names) != len(parts) {
			continue
		}
		same := 0
		for i, name := range names {
			if name == parts[i] {
				same++
			} else if !strings.HasPrefix(name, "{") {
				same = -len(names)
			}
		}
		if same > literal {
			best, literal = &op, same
		}
	}
	return best
}

// check returns what in a value differs from a schema, by path.
func (d *document) check(path string, s *schema, value any) []string {
	for s.Ref != "" {
		s = d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	if value == nil {
		if s.Nullable {
			return nil
		}
		return []string{path + ": null"}
	}
	if len(s.AnyOf) > 0 {
		var least []string
		for i, one := range s.AnyOf {
			found := d.check(path, one, value)
			if len(found) == 0 {
				return nil
			}
			// A record of the wrong kind says less than one with a wrong field.
			if i == 0 || !strings.HasPrefix(found[0], path+": ") && (strings.HasPrefix(least[0], path+": ") || len(found) < len(least)) {
				least = found
			}
		}
		return least
	}
	switch v := value.(type) {
	case map[string]any:
		return d.checkObject(path, s, v)
	case []any:
		if s.Type != "array" {
			return []string{path + ": an array, want " + s.Type}
		}
		var found []string
		for i, one := range v {
			found = append(found, d.check(fmt.Sprintf("%s[%d]", path, i), s.Items, one)...)
		}
		return found
	case string:
		if s.Type != "string" {
			return []string{path + ": a text, want " + s.Type}
		}
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, any(v)) {
			return []string{fmt.Sprintf("%s: %s is none of %v", path, v, s.Enum)}
		}
	case bool:
		if s.Type != "boolean" {
			return []string{path + ": a boolean, want " + s.Type}
		}
	case json.Number:
		if _, err := v.Int64(); s.Type != "number" && (s.Type != "integer" || err != nil) {
			return []string{path + ": " + v.String() + ", want " + s.Type}
		}
	}
	return nil
}

func (d *document) checkObject(path string, s *schema, v map[string]any) (found []string) {
	if s.Type != "object" {
		return []string{path + ": an object, want " + s.Type}
	}
	for _, name := range s.Required {
		if _, has := v[name]; !has {
			found = append(found, path+"."+name+": missing")
		}
	}
	for name, field := range v {
		below, known := s.Properties[name]
		switch {
		case known:
			found = append(found, d.check(path+"."+name, below, field)...)
		case len(s.AdditionalProperties) > 0 && s.AdditionalProperties[0] == '{':
			var further schema
			if err := json.Unmarshal(s.AdditionalProperties, &further); err != nil {
				return []string{path + ": " + err.Error()}
			}
			found = append(found, d.check(path+"."+name, &further, field)...)
		case len(s.Properties) > 0:
			found = append(found, path+"."+name+": not in the document")
		}
	}
	slices.Sort(found)
	return found
}

func decode(t testing.TB, text []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	require.NoError(t, decoder.Decode(&value), string(text))
	return value
}

// checkAnswer compares an answer with the document, and records of its events too, whose
// type the document leaves open.
func checkAnswer(t testing.TB, method, path string, status int, body []byte) {
	t.Helper()
	d, err := published()
	if err != nil {
		t.Error(err)
		return
	}
	op := d.operation(method, path)
	if op == nil {
		if status != http.StatusNotFound {
			t.Errorf("%s %s: the document has no such call", method, path)
		}
		return
	}
	key := "200"
	if status != http.StatusOK {
		key = "default"
	}
	s := op.Responses[key].Content["application/json"].Schema
	value := decode(t, body)
	for _, one := range append(d.check(method+" "+path, s, value), d.checkEvents(value)...) {
		t.Errorf("%d: %s", status, one)
	}
}

// checkEvents compares the records of events with the schemas of their kinds.
func (d *document) checkEvents(value any) (found []string) {
	v, _ := value.(map[string]any)
	switch v["object"] {
	case "list":
		data, _ := v["data"].([]any)
		for _, one := range data {
			found = append(found, d.checkEvents(one)...)
		}
	case "event":
		data, _ := v["data"].(map[string]any)
		record, _ := data["object"].(map[string]any)
		kind, _ := record["object"].(string)
		s := d.Components.Schemas[kind]
		if s == nil {
			return []string{fmt.Sprintf("%v: its record has the unknown kind %q", v["type"], kind)}
		}
		return d.check(fmt.Sprint(v["type"]), s, record)
	}
	return found
}

// checked returns a lab whose every answer is compared with the document, and whose every
// successful request is one that stripe-mock accepts too.
func checked(t testing.TB, lab http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if testing.Short() || !strings.HasPrefix(r.URL.Path, "/v1/") {
			lab.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		recorder := httptest.NewRecorder()
		// A simulated fault ends the handler, and the connection.
		lab.ServeHTTP(recorder, r)
		if recorder.Code != http.StatusUnauthorized {
			checkAnswer(t, r.Method, r.URL.Path, recorder.Code, recorder.Body.Bytes())
		}
		if recorder.Code == http.StatusOK {
			askMock(t, r, body)
		}
		for name, values := range recorder.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(recorder.Body.Bytes())
	})
}

// mock is stripe-mock, a process for all tests of the package.
var mock struct {
	once    sync.Once
	err     error
	url     string
	process *exec.Cmd
}

func TestMain(m *testing.M) {
	code := m.Run()
	if mock.process != nil {
		_ = mock.process.Process.Kill()
		_ = mock.process.Wait()
	}
	os.Exit(code)
}

func startMock() {
	path, err := testenv.Path(mockPath)
	if err != nil {
		mock.err = err
		return
	}
	if _, err := os.Stat(path); err != nil {
		mock.err = fmt.Errorf("%w: run make %s", err, mockPath)
		return
	}
	process := exec.Command(path, "-http-addr", "127.0.0.1:0") // #nosec G204 -- a tool of this repository
	out, err := process.StdoutPipe()
	if err != nil {
		mock.err = err
		return
	}
	process.Stderr = process.Stdout
	if mock.err = process.Start(); mock.err != nil {
		return
	}
	mock.process = process
	// It prints its address, and later each request.
	lines := make(chan string, 1)
	go readMock(out, lines)
	select {
	case mock.url = <-lines:
	case <-time.After(time.Minute):
		mock.err = fmt.Errorf("stripe-mock did not print its address within 1 minute")
	}
}

func readMock(out io.Reader, lines chan<- string) {
	var text bytes.Buffer
	part := make([]byte, 4096)
	found := false
	for {
		n, err := out.Read(part)
		if !found {
			text.Write(part[:n])
			if _, after, has := strings.Cut(text.String(), "Listening for HTTP at address: "); has && strings.Contains(after, "\n") {
				found = true
				lines <- "http://" + strings.TrimSpace(strings.SplitN(after, "\n", 2)[0])
			}
		}
		if err != nil {
			return
		}
	}
}

// askMock sends a request that the lab has answered to stripe-mock, which checks the
// parameters against the document.
func askMock(t testing.TB, r *http.Request, body []byte) {
	mock.once.Do(startMock)
	if mock.err != nil {
		t.Error(mock.err)
		return
	}
	again, err := http.NewRequest(r.Method, mock.url+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	again.Header.Set("Authorization", "Bearer sk_test_123")
	again.Header.Set("Content-Type", r.Header.Get("Content-Type"))
	answer, err := own.Do(again)
	if err != nil {
		t.Error(err)
		return
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		t.Errorf("stripe-mock answers %s %s?%s with %d: %s", r.Method, r.URL.Path, body, answer.StatusCode, text)
	}
}
