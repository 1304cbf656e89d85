package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	flags "flag"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"kith/backend/api/openapi"
	"kith/backend/gateway/braintree"
	"kith/core"
	"kith/core/wire"
	"kith/wasm/transcript"
)

const (
	exampleStory = "each-operation-of-the-api"
	exampleBase  = "http://127.0.0.1:3000"
)

// The examples of the document are the calls and answers of one story, which
// TestStories runs on the program; with -update they are written from it.
func TestOpenAPI_ExamplesAreAStory(t *testing.T) {
	all, err := transcript.Exchanges(stories)
	require.NoError(t, err)
	examples := map[string]openapi.Example{
		// The document as an example of itself would hold all examples.
		"getOpenApi": {
			Curl: "curl '" + exampleBase + "/api/v1/openapi.json'", Status: "200", Type: "application/json",
			Response: json.RawMessage(`{"openapi":"3.0.3","info":{"title":"Kith","version":"v1"},"paths":{}}`),
		},
	}
	for _, x := range all {
		// An exchange whose title has a space prepares the next one.
		if x.Story == exampleStory && !strings.Contains(x.Title, " ") {
			examples[x.Title] = example(t, x)
		}
	}
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", "")
	want.WriteString("{\n")
	for i, name := range slices.Sorted(maps.Keys(examples)) {
		if i > 0 {
			want.WriteString(",\n")
		}
		want.WriteString(strconv.Quote(name) + ": ")
		require.NoError(t, e.Encode(examples[name]))
		want.Truncate(want.Len() - 1)
	}
	want.WriteString("\n}\n")
	if flags.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile("openapi/examples.json", want.Bytes(), 0o600))
		return
	}
	require.Equal(t, want.String(), string(openapi.Examples), "run the test with -update, and read the difference")
}

// example is an exchange of the story as the document shows it.
func example(t *testing.T, x transcript.Exchange) openapi.Example {
	t.Helper()
	e := openapi.Example{Curl: curl(t, x), Status: strconv.Itoa(x.Status), Location: x.ResponseHeader.Get("Location")}
	e.Type, _, _ = strings.Cut(x.ResponseType, ";")
	switch {
	case x.RequestType == "application/json":
		e.Request = compact(t, exampleText(x.Request))
	case strings.HasPrefix(x.RequestType, "multipart/"):
		e.Request = quoted(t, map[string]string{"file": sampleFile})
		require.Contains(t, x.Request, "\n"+sampleFile+"\n")
	case x.Request == "{{check}}":
		e.Request = quoted(t, gatewayCheck)
	default:
		require.Empty(t, x.Request)
	}
	switch {
	case e.Type == "application/json":
		e.Response = compact(t, exampleText(x.Response))
	case e.Type != "":
		e.Response = quoted(t, exampleText(x.Response))
	}
	return e
}

// gatewayCheck is the notification that the stories call check, which their gateway
// signs.
var gatewayCheck = func() map[string]string {
	payload := base64.StdEncoding.EncodeToString([]byte(`<notification><kind>check</kind><timestamp type="datetime">2026-03-01T09:00:00Z</timestamp>`+
		`<subject><check type="boolean">true</check></subject></notification>`)) + "\n"
	return map[string]string{"bt_signature": "lab_public_key|" + braintree.Key{Private: "lab_private_key"}.Sign(payload), "bt_payload": payload}
}()

// sampleFile is the file that the story uploads.
const sampleFile = "accountId,id,firstName\nbob,bob,Bob"

// demoTenant replaces the tenants that only the stories have by those of kith dev.
var demoTenant = strings.NewReplacer("/test_gateway/", "/test_demo/", "/test_stripe/", "/test_demo/", "/team/", "/demo/", "/optin/", "/demo/")

// curl returns a request as a command for the shell, which works with kith dev. A secret is a
// variable of the shell, except the keys of the demo tenants.
func curl(t *testing.T, x transcript.Exchange) string {
	t.Helper()
	words := []string{"curl '" + exampleBase + demoTenant.Replace(exampleText(x.Target)) + "'"}
	if x.Method != http.MethodGet && (x.Method != http.MethodPost || x.Request == "") {
		words = append(words, "-X "+x.Method)
	}
	switch credentials := x.RequestHeader.Get("Authorization"); credentials {
	case "":
	case "Basic {{basic}}", "Basic {{team_basic}}":
		words = append(words, "-u :LIVE_DEMO_KEY_0123456789")
	case "Basic {{test_gateway_basic}}", "Basic {{test_stripe_basic}}":
		words = append(words, "-u :TEST_DEMO_KEY_0123456789")
	case "Bearer {{token_anonymous}}":
		words = append(words, `-H "Authorization: Bearer $TOKEN"`)
	default:
		t.Fatalf("%s has the credentials %s", x.Title, credentials)
	}
	if x.RequestHeader.Get("Stripe-Signature") != "" {
		words = append(words, `-H "Stripe-Signature: $SIGNATURE"`)
	}
	if cookie := x.RequestHeader.Get("Cookie"); cookie != "" {
		words = append(words, "-b '"+exampleText(cookie)+"'")
	}
	switch {
	case x.RequestType == "application/json":
		require.NotContains(t, x.Request, "'")
		words = append(words, "-H 'Content-Type: application/json'", "-d '"+exampleText(x.Request)+"'")
	case strings.HasPrefix(x.RequestType, "multipart/"):
		words = append(words, "-F 'file=@-;filename=users.csv' <<END\n"+sampleFile+"\nEND")
	case x.Request == "{{check}}":
		words = append(words, `--data-urlencode "bt_signature=$SIGNATURE"`, `--data-urlencode "bt_payload=$PAYLOAD"`)
	}
	return strings.Join(words, " \\\n  ")
}

var storyCapture = regexp.MustCompile(`\{\{([a-z_0-9]+)(?::[a-z]+)?\}\}`)

// exampleText replaces the captures in a text of a story with fixed values of their form.
func exampleText(text string) string {
	return storyCapture.ReplaceAllStringFunc(text, func(s string) string {
		name := storyCapture.FindStringSubmatch(s)[1]
		sum := sha256.Sum256([]byte(name))
		digits := hex.EncodeToString(sum[:])
		switch name {
		case "stripe_lab":
			return "http://127.0.0.1:8091"
		case "visitor_ip":
			return "192.0.2.1"
		case "visitor_code":
			return "8JLNAHJW"
		case "key", "new_key", "default_key":
			return digits[:12]
		case "key_secret", "new_key_secret":
			return strings.ToUpper(digits[:40])
		case "endpoint_secret", "new_endpoint_secret":
			return base64.StdEncoding.EncodeToString(sum[:])
		case "known":
			return "v1." + exampleText("{{visitor}}") + "~" + base64.RawURLEncoding.EncodeToString(sum[:])
		case "modulus":
			return base64.RawURLEncoding.EncodeToString(bytes.Repeat(sum[:], 8))
		}
		return "019ca8d72d00" + digits[:12]
	})
}

func compact(t *testing.T, text string) json.RawMessage {
	t.Helper()
	require.True(t, json.Valid([]byte(text)), text)
	return json.RawMessage(text)
}

func quoted(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return text
}

// described is the part of an operation that people read.
type describedOperation struct {
	Summary, Description string
	RequestBody          *exampledMessage
	Responses            map[string]exampledMessage
	CodeSamples          []struct{ Source string } `json:"x-codeSamples"`
}

type exampledMessage struct {
	Ref         string `json:"$ref"`
	Description string
	Content     map[string]struct{ Example json.RawMessage }
}

func (d document) described(t *testing.T, o endpoint) (is describedOperation) {
	t.Helper()
	require.NoError(t, json.Unmarshal(d.Paths[o.path][strings.ToLower(o.method)], &is))
	return is
}

// Every operation has a summary, a description, an example of its request and of its
// answer that match the schemas, and a list of its errors.
func TestOpenAPI_EveryOperationIsExplained(t *testing.T) {
	d := served(t)
	schemas := compiler(t, d)
	for _, o := range d.operations(t) {
		is := d.described(t, o)
		name := o.body.OperationID
		assert.NotEmpty(t, is.Summary, name)
		assert.Regexp(t, `^[A-Z](?s:.*)\.$`, is.Description, name)
		assert.Regexp(t, `^[A-Z].*[^.]$`, is.Summary, name)
		if assert.Len(t, is.CodeSamples, 1, name) {
			sample := strings.TrimPrefix(strings.Split(is.CodeSamples[0].Source, "'")[1], exampleBase)
			path, _, _ := strings.Cut(sample, "?")
			assert.Regexp(t, o.form, path, name)
		}
		if is.RequestBody != nil && is.RequestBody.Ref != "#/components/requestBodies/IgnoredBody" {
			requireExample(t, schemas, "#"+o.ref+"/requestBody", *is.RequestBody)
		}
		checkResponses(t, d, schemas, o, is)
	}
}

func checkResponses(t *testing.T, d document, schemas *jsonschema.Compiler, o endpoint, is describedOperation) {
	t.Helper()
	exampled := false
	for status, r := range is.Responses {
		if status < "4" || len(r.Content) > 0 && r.hasExample() {
			if len(r.Content) == 0 || r.hasExample() {
				exampled = true
			}
			if r.hasExample() {
				requireExample(t, schemas, "#"+o.ref+"/responses/"+status, r)
			}
		}
		if status >= "4" {
			assert.NotEmpty(t, d.errors(t, o, status), "%s does not list its errors of status %s", o.body.OperationID, status)
		}
	}
	assert.True(t, exampled, "%s has no example of an answer", o.body.OperationID)
}

func (m exampledMessage) hasExample() bool {
	for _, content := range m.Content {
		if content.Example != nil {
			return true
		}
	}
	return false
}

// requireExample requires an example of a message that its schema permits.
func requireExample(t *testing.T, schemas *jsonschema.Compiler, at string, m exampledMessage) {
	t.Helper()
	assert.True(t, m.hasExample(), "%s has no example", at)
	for kind, content := range m.Content {
		if content.Example == nil {
			continue
		}
		schema, err := schemas.Compile(documentURL + at + "/content/" + url.PathEscape(strings.ReplaceAll(kind, "/", "~1")) + "/schema")
		require.NoError(t, err, at)
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(content.Example))
		require.NoError(t, err)
		assert.NoError(t, schema.Validate(value), "%s: %s", at, content.Example)
	}
}

// listedError is one element of the list of errors of a response.
type listedError struct{ status, code, rs string }

var errorLine = regexp.MustCompile("(?m)^- (?:([0-9]{3}) )?`([A-Z_]+)`(?: \\(`(RS[0-9]{3})`\\))?: .+\\. .+\\.$")

// errors returns the errors that the document lists for a status of an operation.
func (d document) errors(t *testing.T, o endpoint, status string) (all []listedError) {
	t.Helper()
	response := d.described(t, o).Responses[status]
	text := response.Description
	if response.Ref != "" {
		text = gjson.GetBytes(d.raw, "components.responses."+strings.TrimPrefix(response.Ref, "#/components/responses/")+".description").String()
	}
	for _, m := range errorLine.FindAllStringSubmatch(text, -1) {
		if m[1] == "" {
			m[1] = status
		}
		all = append(all, listedError{m[1], m[2], m[3]})
	}
	assert.Equal(t, strings.Count(text, "\n- "), len(all), "%s: a line has another form than code, when, and what to do: %s", o.body.OperationID, text)
	return all
}

// Every error that a story gets is in the list of its operation.
func TestOpenAPI_ErrorsAreListed(t *testing.T) {
	d := served(t)
	operations := d.operations(t)
	exchanges, err := transcript.Exchanges(stories)
	require.NoError(t, err)
	for _, x := range exchanges {
		o, ok := called(operations, x)
		got := listedError{strconv.Itoa(x.Status), gjson.Get(x.Response, "apiErrorCode").String(), gjson.Get(x.Response, "rsCode").String()}
		if !ok || x.Status < 400 || got.code == "" {
			continue
		}
		key, _ := o.response(t, x.Status)
		assert.Contains(t, d.errors(t, o, key), got, "%s: %s/%s", o.body.OperationID, x.Story, x.Title)
	}
}

// Every error that the document lists has the status of its code, and every code is
// listed for some operation.
func TestOpenAPI_ErrorCodesAreThoseOfWire(t *testing.T) {
	d := served(t)
	statuses := map[string]string{"BAD_REQUEST": "400", "HEADERS_TOO_LARGE": "431"} // of a request that is not HTTP
	for _, c := range core.Codes() {
		_, status, word := wire.Shown(&core.Error{Code: c})
		statuses[word] = strconv.Itoa(status)
	}
	listed := map[string]bool{}
	for _, o := range d.operations(t) {
		for status := range o.body.Responses {
			if status < "4" {
				continue
			}
			for _, e := range d.errors(t, o, status) {
				assert.Equal(t, statuses[e.code], e.status, "%s lists %s", o.body.OperationID, e.code)
				listed[e.code] = true
			}
		}
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(statuses)), slices.Collect(maps.Keys(listed)))
}

// Every rsCode of the program is listed for some operation.
func TestOpenAPI_ListsEveryRSCode(t *testing.T) {
	d := served(t)
	listed := map[string]bool{}
	for _, o := range d.operations(t) {
		for status := range o.body.Responses {
			if status >= "4" {
				for _, e := range d.errors(t, o, status) {
					listed[e.rs] = true
				}
			}
		}
	}
	found := 0
	for _, top := range []string{"../../core", "../../backend"} {
		require.NoError(t, filepath.WalkDir(top, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			source, err := os.ReadFile(name)
			for _, code := range regexp.MustCompile(`"(RS0[0-9]{2})"`).FindAllSubmatch(source, -1) {
				found++
				assert.True(t, listed[string(code[1])], "%s answers %s, which no operation lists", name, code[1])
			}
			return err
		}))
	}
	require.NotZero(t, found)
}
