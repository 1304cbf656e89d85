// Package transcript plays HTTP stories from text files and compares every byte of the
// answers.
//
// A story is a file NAME.http.txt, named after the rule that it shows. It begins with an
// explanation, followed by exchanges:
//
//	The second use of an idempotency key within 24 hours is refused.
//
//	=== first use
//	> POST /api/v1/demo/open/account/anna/user/anna/events
//	> Authorization: Basic {{basic}}
//	> Content-Type: application/json
//	>
//	> {"events":[{"key":"visit"}],"idempotencyKey":"k-1"}
//
//	< 200 OK
//	< Cache-Control: no-store
//	< Content-Type: application/json
//	via: edge
//	< X-Kith-Edge: 1
//	<
//	< {"ids":["{{event:id}}"],"received":{{received:ms}}}
//
//	=== a day and a millisecond later it is accepted again
//	advance: 24h0m0.001s
//	> POST …
//
// Lines that begin with > are the request: method and target, headers, a line
// with only >, and the body. Lines that begin with < are the answer in the same
// form: status, headers, body. One space after the sign is not part of the line.
// Header names are compared without regard to case. Header lines may be in any order,
// but values of the same name must be in the order in which they are sent.
// Lines of a body are joined by "\n"; a body that ends in "\n" therefore has an
// empty last line.
//
// The answer is complete: status, every header and the whole body, compared
// byte by byte. JSON is not normalized, since the bytes must be equal. Only headers about
// the transport are left out: Connection, Content-Length, Date, Keep-Alive,
// Transfer-Encoding and X-Request-Id, and X-Content-Type-Options, which each answer has
// (TestAttacks). Requests contain only what the story says, plus Host
// and Content-Length; redirects are not followed and cookies are not stored.
//
// Texts that are not known beforehand are captured: {{name:kind}} in an answer matches a
// text of that kind and gives it a name. The kinds are
//
//	id     letters, digits, "_" and "-", 4 to 64 of them
//	ms     a time in epoch milliseconds, 13 digits
//	int    a whole number of at most 9 digits
//	time   a time as in RFC 3339
//	token  a signed text: id with ".", "~", "%" and "=", of any length
//	secret 32 random bytes in base64
//
// {{name}}, in the same or a later answer or request, stands for that text. The Target may
// define further names. A name is captured once in a story.
//
// Between exchanges and their parts, separate lines may contain
//
//	# …             a comment (not inside an answer)
//	advance: 24h    moves the target's clock before the request is sent
//	until: TEXT     repeats the request until the answer contains the text, for up to
//	                20 seconds: a worker of the target works after the answer
//	via: edge       the next line applies only to targets of this name
//
// Anything else is an error. With the flag -update, the answers in the file are replaced by
// those of the target. Lines that still match keep their captures, changed lines keep the
// captures in unchanged text, and lines for other targets are kept. The rest of the file
// does not change.
package transcript

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "rewrite the answers in the transcripts that are played")

// Target is a server that stories are played against.
type Target struct {
	// Base is the URL to which request targets are appended. It may have a path, and does
	// not end in a slash.
	Base string
	// Name selects the lines marked `via: Name`. By default all marked lines are left out.
	Name string
	// Values are texts to which the story may refer, such as keys.
	Values map[string]string
	// Advance advances the server's clock. By default a story that needs it fails.
	Advance func(time.Duration)
	// Check checks the headers of every answer, including those that stories leave out.
	// By default they are not checked.
	Check func(http.Header) error
	// Timeout is how long a request with until is repeated. The default is 20 seconds.
	Timeout time.Duration
}

// Run plays every story of a folder as a subtest, each on a new target, so that a story
// does not depend on others. It fails if the folder has no stories.
func Run(t *testing.T, dir string, target func(*testing.T) Target) {
	t.Helper()
	RunSome(t, dir, func(int) bool { return true }, target)
}

// RunSome is Run for the stories whose place in the order of their names is chosen.
func RunSome(t *testing.T, dir string, chosen func(i int) bool, target func(*testing.T) Target) {
	t.Helper()
	paths, err := stories(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range paths {
		if !chosen(i) {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), suffix), func(t *testing.T) {
			if err := playFile(path, target(t), *update); err != nil {
				t.Fatal(err)
			}
		})
	}
}

const suffix = ".http.txt"

func stories(dir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("transcript: no *%s in %q", suffix, dir)
	}
	return paths, err
}

func playFile(path string, target Target, update bool) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	s, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s:%w", path, err)
	}
	if err = s.play(target, update); err != nil {
		err = fmt.Errorf("%s:%w", path, err)
	}
	// After an error the answers so far are written too, which shows where a capture is
	// missing.
	if now := s.String(); update && now != string(text) {
		err = errors.Join(err, os.WriteFile(path, []byte(now), 0o644)) // #nosec G306 G703 -- it is committed, and is the file that was read
	}
	return err
}

// play sends the requests in order and stops at the first answer that differs, since
// later differences would follow from it.
func (s *story) play(target Target, update bool) error {
	known := captures{}
	maps.Copy(known, target.Values)
	for i := range s.exchanges {
		x := &s.exchanges[i]
		if err := x.play(target, known, update); err != nil {
			return fmt.Errorf("%d: %s: %w", x.line, x.title, err)
		}
	}
	return nil
}

func (x *exchange) play(target Target, known captures, update bool) error {
	if x.advance != 0 {
		if target.Advance == nil {
			return fmt.Errorf("this target cannot advance its clock")
		}
		target.Advance(x.advance)
	}
	got, err := x.send(target, known)
	if err != nil {
		return err
	}
	if update {
		x.response = rewrite(x.response, got, target.Name, known)
	}
	return match(forTarget(x.response, target.Name), got, known)
}

// retryEvery is the time between repetitions of a request with until.
const retryEvery = 20 * time.Millisecond

// send sends the request and returns the answer. With until, it repeats the request, and
// returns the last answer.
func (x *exchange) send(target Target, known captures) (got []string, err error) {
	timeout := cmp.Or(target.Timeout, 20*time.Second)
	for start := time.Now(); ; time.Sleep(retryEvery) {
		got, err = send(target, x.request, known)
		if err != nil || strings.Contains(strings.Join(got, "\n"), x.until) {
			return got, err
		}
		if time.Since(start) > timeout {
			return got, fmt.Errorf("no answer contained %q within %v; the last is\n%s", x.until, timeout, strings.Join(got, "\n"))
		}
	}
}

var client = &http.Client{
	Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true},
	Timeout:   30 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	},
}

// send sends a request and returns the answer as the lines of a transcript.
func send(target Target, request []line, known captures) ([]string, error) {
	lines := forTarget(request, target.Name)
	for i, l := range lines {
		var err error
		if lines[i], err = known.expand(l); err != nil {
			return nil, err
		}
	}
	head, body := split(lines)
	if len(head) == 0 {
		return nil, fmt.Errorf("the request has no lines for target %q", target.Name)
	}
	method, path, ok := strings.Cut(head[0], " ")
	if !ok {
		return nil, fmt.Errorf("request line %q is not METHOD TARGET", head[0])
	}
	req, err := http.NewRequest(method, target.Base+path, strings.NewReader(strings.Join(body, "\n")))
	if err != nil {
		return nil, err
	}
	// Without this, net/http would send its own User-Agent.
	req.Header["User-Agent"] = nil
	for _, l := range head[1:] {
		name, value, ok := strings.Cut(l, ":")
		if !ok {
			return nil, fmt.Errorf("request header %q has no colon", l)
		}
		if value = strings.TrimSpace(value); strings.EqualFold(name, "Host") {
			req.Host = value
			continue
		}
		req.Header.Add(name, value)
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if target.Check != nil {
		if err = target.Check(res.Header); err != nil {
			return nil, err
		}
	}
	return answer(res)
}

// travel has the headers about the transport, which may differ between equal answers.
var travel = []string{"Connection", "Content-Length", "Date", "Keep-Alive", "Transfer-Encoding", "X-Content-Type-Options", "X-Request-Id"}

func answer(res *http.Response) ([]string, error) {
	for _, name := range travel {
		res.Header.Del(name)
	}
	lines := []string{fmt.Sprintf("%d %s", res.StatusCode, http.StatusText(res.StatusCode))}
	for name, values := range res.Header {
		for _, v := range values {
			lines = append(lines, name+": "+v)
		}
	}
	sortHeaders(lines[1:], func(l string) string { return l })
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(body) || strings.ContainsAny(string(body), "\r\x00") {
		return nil, fmt.Errorf("the answer's body is not text: %q", body)
	}
	if len(body) > 0 {
		lines = append(append(lines, ""), strings.Split(string(body), "\n")...)
	}
	return lines, nil
}
