package transcript

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serve starts a small server with a clock, as a target with the given name.
func serve(t *testing.T, name string) Target {
	var clock time.Duration
	mux := http.NewServeMux()
	mux.HandleFunc("GET /path/base/visit", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://"+r.Host+"/landing?"+r.URL.RawQuery)
		w.Header().Add("Set-Cookie", fmt.Sprintf("visit=v1.%d~x; Path=/", time.Now().UnixNano()))
		w.Header().Add("Set-Cookie", "second=2")
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("POST /path/base/echo", func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header["User-Agent"])+len(r.Header["Accept-Encoding"]) > 0 || (r.Header.Get("X-Sent-To") == "edge") != (name == "edge") {
			w.WriteHeader(http.StatusTeapot)
		}
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		cookie, _ := r.Cookie("visit")
		fmt.Fprintf(w, "{\"id\":\"ev_%d\",\"cookie\":%q,\"at\":%d}\n", time.Now().UnixNano(), cookie.Value, time.Now().UnixMilli())
		io.Copy(w, r.Body)
		fmt.Fprintln(w)
	})
	jobs := 0
	mux.HandleFunc("GET /path/base/job", func(w http.ResponseWriter, r *http.Request) {
		jobs++
		fmt.Fprintf(w, "%d of 3", jobs)
	})
	mux.HandleFunc("GET /path/base/clock", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, clock)
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name == "edge" {
			w.Header().Set("X-Edge", "1")
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return Target{
		Base:    server.URL + "/path",
		Name:    name,
		Values:  map[string]string{"account": "anna"},
		Advance: func(d time.Duration) { clock += d },
	}
}

func TestRun_SameStoryOnTwoTargets(t *testing.T) {
	for _, name := range []string{"backend", "edge"} {
		t.Run(name, func(t *testing.T) {
			Run(t, "testdata", func(t *testing.T) Target { return serve(t, name) })
		})
	}
}

func TestRunSome_PlaysTheChosenStories(t *testing.T) {
	paths, err := stories("testdata")
	require.NoError(t, err)
	var asked []int
	played := 0
	RunSome(t, "testdata", func(i int) bool { asked = append(asked, i); return i == 0 }, func(t *testing.T) Target {
		played++
		return serve(t, "backend")
	})
	require.Len(t, asked, len(paths))
	require.Equal(t, 1, played)
}

func TestStories_EmptyFolderIsAnError(t *testing.T) {
	_, err := stories(t.TempDir())
	require.ErrorContains(t, err, "no *.http.txt in")
}

const clockStory = "=== clock\n> GET /base/clock\n\n"

// play plays a text against a new server, and returns the text of the file afterwards.
func play(t *testing.T, text string, update bool) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "story.http.txt")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	err := playFile(path, serve(t, "backend"), update)
	after, readErr := os.ReadFile(path)
	require.NoError(t, readErr)
	return string(after), err
}

func TestPlay_DifferencesFail(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"status":             {clockStory + "< 201 Created\n< Content-Type: text/plain; charset=utf-8\n<\n< 0s\n", "  - < 201 Created\n  + < 200 OK\n    < Content-Type"},
		"header value":       {clockStory + "< 200 OK\n< Content-Type: text/plain\n<\n< 0s\n", "- < Content-Type: text/plain\n"},
		"header not named":   {clockStory + "< 200 OK\n<\n< 0s\n", "4 lines, not 3"},
		"header not sent":    {clockStory + "< 200 OK\n< A: b\n< Content-Type: text/plain; charset=utf-8\n<\n< 0s\n", "4 lines, not 5"},
		"body":               {clockStory + "< 200 OK\n< Content-Type: text/plain; charset=utf-8\n<\n< 1s\n", "- < 1s\n  + < 0s\n"},
		"end of line":        {clockStory + "< 200 OK\n< Content-Type: text/plain; charset=utf-8\n<\n< 0s\n<\n", "4 lines, not 5"},
		"kind":               {clockStory + "< 200 OK\n< Content-Type: text/plain; charset=utf-8\n<\n< {{n:ms}}\n", "- < {{n:ms}}"},
		"unknown kind":       {clockStory + "< 200 OK\n< Content-Type: text/plain; charset=utf-8\n<\n< {{n:any}}\n", "unknown kind"},
		"unknown name":       {clockStory + "< 200 OK\n< Content-Type: text/plain; charset=utf-8\n<\n< {{n}}\n", "not captured on a line before"},
		"captured twice":     {clockStory + "< 200 OK\n< Content-Type: {{n:token}}{{n:token}}\n<\n< 0s\n", "captured twice"},
		"unknown in request": {"=== x\n> GET /base/clock?{{n}}\n\n< 200 OK\n", "not captured before this request"},
		"no answer":          {clockStory, "the expected answer is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			after, err := play(t, test.text, false)
			require.ErrorContains(t, err, test.want)
			require.Equal(t, test.text, after)
		})
	}
}

func TestPlay_AdvanceNeedsAClock(t *testing.T) {
	s, err := parse("=== x\nadvance: 1h\n> GET /base/clock\n")
	require.NoError(t, err)
	target := serve(t, "backend")
	target.Advance = nil
	require.ErrorContains(t, s.play(target, false), "1: x: this target cannot advance its clock")
}

func TestPlay_UntilRepeatsTheRequest(t *testing.T) {
	const story = "=== job\nuntil: 3 of\n> GET /base/job\n\n< 200 OK\n< Content-Type: text/plain; charset=utf-8\n<\n< 3 of 3\n"
	after, err := play(t, story, false)
	require.NoError(t, err)
	require.Equal(t, story, after)

	s, err := parse("=== job\nuntil: never\n> GET /base/job\n")
	require.NoError(t, err)
	target := serve(t, "backend")
	target.Timeout = time.Millisecond
	require.ErrorContains(t, s.play(target, false), `1: job: no answer contained "never" within 1ms; the last is`)
}

func TestParse_NamesTheLine(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"empty":                   {"", "1: no exchange"},
		"only prose":              {"A story.\n", "1: no exchange"},
		"no request":              {"=== x\n", "1: x: no request"},
		"answer first":            {"=== x\n< 200 OK\n", "2: an answer without a request"},
		"request after answer":    {"=== x\n> GET /\n< 200 OK\n> GET /\n", "4: a request line after the answer"},
		"answer in two blocks":    {"=== x\n> GET /\n< 200 OK\n\n< A: b\n", "5: an answer must be one block"},
		"comment in answer":       {"=== x\n> GET /\n< 200 OK\n# no\n< A: b\n", "5: an answer must be one block"},
		"stray text":              {"=== x\n> GET /\noops\n", `3: "oops" is neither`},
		"bad duration":            {"=== x\nadvance: soon\n> GET /\n", "2: time: invalid duration"},
		"advance after request":   {"=== x\n> GET /\nadvance: 1h\n", "3: advance must be before"},
		"until after request":     {"=== x\n> GET /\nuntil: a\n", "3: until must be before"},
		"until nothing":           {"=== x\nuntil:  \n> GET /\n", "2: until needs a text"},
		"via followed by nothing": {"=== x\n> GET /\nvia: edge\n\n< 200 OK\n", "4: via is not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(test.text)
			require.ErrorContains(t, err, test.want)
			require.True(t, strings.HasPrefix(err.Error(), test.want), err.Error())
		})
	}
}

func TestUpdate_WritesOnlyTheMissingAnswer(t *testing.T) {
	after, err := play(t, "Prose.\n\n"+clockStory+"# note\n=== again\n> GET /base/clock\n", true)
	require.NoError(t, err)
	answer := "\n< 200 OK\n< Content-Type: text/plain; charset=utf-8\n<\n< 0s\n"
	require.Equal(t, "Prose.\n\n=== clock\n> GET /base/clock\n"+answer+"\n# note\n=== again\n> GET /base/clock\n"+answer, after)
	again, err := play(t, after, false)
	require.NoError(t, err)
	require.Equal(t, after, again)
}

func TestUpdate_KeepsCapturesAndLinesOfOthers(t *testing.T) {
	text, err := os.ReadFile("testdata/captured-cookie-is-sent-back.http.txt")
	require.NoError(t, err)
	after, err := play(t, string(text), true)
	require.NoError(t, err)
	require.Equal(t, string(text), after, "nothing changed")

	changed := strings.NewReplacer(`,"at":{{at:ms}}}`, `,"old":true,"at":{{at:ms}}}`, "302 Found", "303 See Other",
		"; Path=/", "; Path=/old", "24h0m0s", "wrong").Replace(string(text))
	require.NotEqual(t, string(text), changed)
	after, err = play(t, changed, true)
	require.NoError(t, err)
	require.Equal(t, string(text), after, "restored")
}
