package bucket

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"
)

// The host and the path of a bucket.
func TestPlace_Base(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	for text, want := range map[string]string{
		"s3://files?region=eu-central-1":                                               "https://files.s3.dualstack.eu-central-1.amazonaws.com/",
		"s3://files?region=cn-north-1":                                                 "https://files.s3.dualstack.cn-north-1.amazonaws.com.cn/",
		"s3://our.files?region=us-east-1":                                              "https://s3.dualstack.us-east-1.amazonaws.com/our.files/",
		"s3://files?region=us-east-1&use_path_style=true":                              "https://s3.dualstack.us-east-1.amazonaws.com/files/",
		"s3://files?region=us-gov-west-1&endpoint=s3-fips.us-gov-west-1.amazonaws.com": "https://files.s3-fips.us-gov-west-1.amazonaws.com/",
		"s3://files?endpoint=minio.example:9000":                                       "https://minio.example:9000/files/",
		"s3://files?endpoint=http://minio.example&use_path_style=false":                "http://files.minio.example/",
		"gs://files":     "https://files.storage.googleapis.com/",
		"gs://our.files": "https://storage.googleapis.com/our.files/",
	} {
		u, err := url.Parse(text)
		require.NoError(t, err)
		p, err := parse(u)
		require.NoError(t, err)
		require.Equal(t, want, p.base(), text)
	}
}

type said struct {
	status int
	body   string
}

// answering returns a client of a server that gives some answers, and how many requests
// it got.
func answering(t *testing.T, answers ...said) (*client, *int) {
	t.Helper()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := answers[min(asked, len(answers)-1)]
		asked++
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPut && string(body) != "text" || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=id/") {
			a = said{400, "<Error><Code>BadDigest</Code></Error>"}
		}
		if a.status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	}))
	t.Cleanup(server.Close)
	return newClient(place{endpoint: strings.TrimPrefix(server.URL, "http://"), plain: true, region: "r", bucket: "files"}, credentials.NewStaticV4("id", "secret", "")), &asked
}

// What the server cannot do now is tried again, with the same body; what it refuses is not.
func TestClient_TriesAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first said
		tries int
		want  string
	}{
		"no answer":         {said{}, 2, ""},
		"unavailable":       {said{503, ""}, 2, ""},
		"slow down":         {said{503, "<Error><Code>SlowDown</Code></Error>"}, 2, ""},
		"too many":          {said{429, "slow"}, 2, ""},
		"an expired token":  {said{400, "<Error><Code>ExpiredToken</Code></Error>"}, 2, ""},
		"200 with an error": {said{200, "<Error><Code>InternalError</Code></Error>"}, 2, ""},
		"denied":            {said{403, ""}, 1, "Access Denied."},
		"missing":           {said{404, "<h1>none</h1>"}, 1, "The specified key does not exist."},
		"refused":           {said{400, "<Error><Code>EntityTooLarge</Code><Message>too large</Message></Error>"}, 1, "too large"},
		"another region":    {said{301, "<Error><Code>PermanentRedirect</Code></Error>"}, 1, "Error response code PermanentRedirect."},
		"a teapot":          {said{418, "secret"}, 1, "Error response code 418 I'm a teapot."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, asked := answering(t, c.first, said{status: 200})
			err := client.put(t.Context(), "a/b", []byte("text"))
			require.Equal(t, c.tries, *asked)
			if c.want != "" {
				require.EqualError(t, err, c.want)
				return
			}
			require.NoError(t, err)
		})
	}
}

// An answer without what the next request needs is an error.
func TestClient_UselessAnswers(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "<html></html>", "{}"} {
		client, _ := answering(t, said{200, body})
		_, err := client.begin(t.Context(), "a")
		require.Error(t, err, body)
		require.Error(t, client.complete(t.Context(), "a", "1", nil), body)
	}
	client, _ := answering(t, said{200, "all of it"})
	_, err := client.get(t.Context(), "a", 4)
	require.EqualError(t, err, "the server ignores the header Range: it answers 200 OK")
}
