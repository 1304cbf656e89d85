// Package transcript plays HTTP stories that are written as text and compares
// every byte of the answers.
//
// A story is a file NAME.http.txt, named after the rule it shows. It begins with
// prose for the reader, and goes on with exchanges:
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
// Header names are compared without regard to case, and header lines may stand
// in any order, except that values of one name stand in the order they are sent.
// Lines of a body are joined by "\n"; a body that ends in "\n" therefore has an
// empty last line.
//
// The answer is complete: status, every header and the whole body, compared
// byte by byte. JSON is not normalised, since equal bytes are the point. Only
// headers that say how the bytes travelled are left out: Connection,
// Content-Length, Date, Keep-Alive, Transfer-Encoding and X-Request-Id. Nothing is sent that
// the story does not say, save Host and Content-Length; redirects are not
// followed and cookies not kept.
//
// What cannot be known beforehand is captured: {{name:kind}} in an answer
// matches a text of that kind and gives it a name; kinds are
//
//	id     letters, digits, "_" and "-", 4 to 64 of them
//	ms     a time in epoch milliseconds, 13 digits
//	time   a time as in RFC 3339
//	token  a signed text: id with ".", "~", "%" and "=", of any length
//	secret 32 random bytes in base64
//
// {{name}}, in the same or a later answer or request, is that text again. Names
// may also be given by the Target. A name is captured once in a story.
//
// Between exchanges and their parts stand, on lines of their own,
//
//	# …             a comment (not inside an answer)
//	advance: 24h    moves the target's clock before the request is sent
//	via: edge       the one line that follows holds only for targets of this name
//
// Anything else is an error. With the flag -update, answers are rewritten by
// what the target said; lines that still match keep their captures, lines that
// changed keep those whose surroundings did not, and lines for other targets
// stay. Everything else in the file is left as it is.
package transcript

import (
	"errors"
	"flag"
	"fmt"
	"io"
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
	// Base is the URL that request targets are appended to, without a slash at
	// its end. It may have a path.
	Base string
	// Name selects the lines marked `via: Name`. Default: none of them.
	Name string
	// Values are texts that the story may refer to, such as keys.
	Values map[string]string
	// Advance moves the server's clock. Default: a story that needs it fails.
	Advance func(time.Duration)
	// Check checks the headers of every answer, those that stories leave out among
	// them. Default: they are not checked.
	Check func(http.Header) error
}

// Run plays every story of a folder as a subtest. The target is made anew for
// each, so that a story says everything that happened before. A folder without
// stories fails.
func Run(t *testing.T, dir string, target func(*testing.T) Target) {
	t.Helper()
	paths, err := stories(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
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
	// What was learned up to an error is written too: it shows the author where
	// a capture is missing.
	if now := s.String(); update && now != string(text) {
		err = errors.Join(err, os.WriteFile(path, []byte(now), 0o644)) // #nosec G306 G703 -- it is committed, and is the file that was read
	}
	return err
}

// play sends the requests in order and stops at the first answer that differs:
// what follows would only repeat it.
func (s *story) play(target Target, update bool) error {
	known := captures{}
	for name, value := range target.Values {
		known[name] = value
	}
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
	got, err := send(target, x.request, known)
	if err != nil {
		return err
	}
	if update {
		x.response = rewrite(x.response, got, target.Name, known)
	}
	return match(forTarget(x.response, target.Name), got, known)
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
	// The client's own name would be sent otherwise.
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

// travel is how the bytes came, which may differ where the answer does not.
var travel = []string{"Connection", "Content-Length", "Date", "Keep-Alive", "Transfer-Encoding", "X-Request-Id"}

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
