package transcript

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Exchange is one request of a story and its answer, with the captures as written.
type Exchange struct {
	// Story is the name of the story, and Title that of the exchange in it.
	Story, Title string
	// Method and Target are the request line.
	Method, Target string
	// Request and Response are the bodies, or empty.
	Request, Response string
	// RequestType and ResponseType are their Content-Type headers.
	RequestType, ResponseType string
	// RequestHeader has all headers of the request.
	RequestHeader http.Header
	// ResponseHeader has all headers of the answer that a story shows.
	ResponseHeader http.Header
	Status         int
}

// Exchanges reads all stories of a folder, with the lines for the target "backend", for
// tests that compare them with the documentation. A folder without stories is an error.
func Exchanges(dir string) ([]Exchange, error) {
	paths, err := stories(dir)
	if err != nil {
		return nil, err
	}
	var all []Exchange
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		s, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s:%w", path, err)
		}
		for _, x := range s.exchanges {
			e, err := x.written()
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, x.line, err)
			}
			e.Story, e.Title = strings.TrimSuffix(filepath.Base(path), suffix), x.title
			all = append(all, e)
		}
	}
	return all, nil
}

func (x exchange) written() (e Exchange, err error) {
	const target = "backend"
	head, body := split(forTarget(x.request, target))
	e.Method, e.Target, _ = strings.Cut(head[0], " ")
	e.Request, e.RequestHeader = strings.Join(body, "\n"), headersOf(head[1:])
	e.RequestType = e.RequestHeader.Get("Content-Type")
	head, body = split(forTarget(x.response, target))
	if len(head) == 0 {
		return e, fmt.Errorf("%s: no answer for target %q", x.title, target)
	}
	e.Response, e.ResponseHeader = strings.Join(body, "\n"), headersOf(head[1:])
	e.ResponseType = e.ResponseHeader.Get("Content-Type")
	status, _, _ := strings.Cut(head[0], " ")
	e.Status, err = strconv.Atoi(status)
	return e, err
}

func headersOf(lines []string) http.Header {
	all := http.Header{}
	for _, l := range lines {
		if name, value, ok := strings.Cut(l, ":"); ok {
			all.Add(name, strings.TrimSpace(value))
		}
	}
	return all
}
