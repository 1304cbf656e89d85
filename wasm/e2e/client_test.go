package e2e

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// noRedirect is a client that follows no redirects and stores no cookies.
var noRedirect = &http.Client{
	Transport:     &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
	Timeout:       deadline,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// answer is a response with its whole body.
type answer struct {
	status int
	header http.Header
	body   string
}

// call sends a request; each header is "Name: value".
func call(method, url, body string, headers ...string) (answer, error) {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ": ")
		if !ok {
			return answer{}, errors.New("no header: " + h)
		}
		if name == "Host" {
			request.Host = value
			continue
		}
		request.Header.Add(name, value)
	}
	response, err := noRedirect.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(text)}, err
}

// readAnswer reads an answer from a connection.
func readAnswer(t testing.TB, in *bufio.Reader, method string) answer {
	t.Helper()
	response, err := http.ReadResponse(in, &http.Request{Method: method})
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{response.StatusCode, response.Header, string(text)}
}

// mustCall sends a request that must be answered with the given status.
func mustCall(t testing.TB, status int, method, url, body string, headers ...string) answer {
	t.Helper()
	a, err := call(method, url, body, headers...)
	require.NoError(t, err)
	require.Equal(t, status, a.status, a.body)
	return a
}

// decoded reads a JSON answer.
func decoded[T any](a answer) (v T, err error) {
	err = json.Unmarshal([]byte(a.body), &v)
	return v, err
}

// decode parses a JSON answer, and fails the test if it is not valid.
func decode[T any](t testing.TB, a answer) T {
	t.Helper()
	v, err := decoded[T](a)
	require.NoError(t, err, a.body)
	return v
}

// failure is the body of an error.
type failure struct {
	Message      string `json:"message"`
	StatusCode   int    `json:"statusCode"`
	APIErrorCode string `json:"apiErrorCode"`
	RSCode       string `json:"rsCode"`
}

// auth is the API key as a header.
func (s *site) auth(tenant string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(":"+s.keys[tenant]))
}

// identify identifies a user whose account has the same id.
func (s *site) identify(t testing.TB, base, tenant, id, body string) answer {
	t.Helper()
	return mustCall(t, http.StatusOK, "PUT", base+"/api/v1/"+tenant+"/open/account/"+id+"/user/"+id, body, s.auth(tenant))
}

// sendEvents sends an event call of a user whose account has the same id.
func (s *site) sendEvents(base, tenant, id, body string) (answer, error) {
	return call("POST", base+"/api/v1/"+tenant+"/open/account/"+id+"/user/"+id+"/events", body, s.auth(tenant))
}

// logged is the answer to an event call.
type logged struct {
	Events []struct {
		ID string `json:"id"`
	} `json:"events"`
}

// atOnce runs n calls of do concurrently, and returns their results.
func atOnce[T any](n int, do func(i int) T) []T {
	results := make([]T, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			results[i] = do(i)
		})
	}
	close(start)
	all.Wait()
	return results
}

// outcome is an answer or an error.
type outcome struct {
	answer
	err error
}

// statuses counts answers by status; a call that failed fails the test.
func statuses(t testing.TB, outcomes []outcome) map[int]int {
	t.Helper()
	count := map[int]int{}
	for _, o := range outcomes {
		require.NoError(t, o.err)
		count[o.status]++
	}
	return count
}
