package bucket

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5" // #nosec G501 -- see try
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
	"github.com/minio/minio-go/v7/pkg/signer"
)

const (
	// maxTries, firstPause and maxPause are those of a request that can have another
	// result later: it is given up after about 5 s.
	maxTries   = 10
	firstPause = 200 * time.Millisecond
	maxPause   = time.Second
	// headTime bounds how long a server takes to begin its answer.
	headTime = time.Minute
	// maxAnswer bounds an answer other than a file.
	maxAnswer = 5 << 20
)

// client sends the requests of the protocol to one bucket. Each is signed with its body.
type client struct {
	// base is the URL of the bucket, which ends in a slash.
	base, region string
	keys         *credentials.Credentials
	http         *http.Client
}

func newClient(p place, keys *credentials.Credentials) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	// A file is not decompressed, whatever its Content-Encoding is. By HTTP/2, all
	// requests would share one connection.
	transport.DisableCompression, transport.ForceAttemptHTTP2 = true, false
	transport.MaxIdleConnsPerHost, transport.ResponseHeaderTimeout = 16, headTime
	return &client{base: p.base(), region: p.region, keys: keys, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// base returns the URL of the bucket. Each region of Amazon has its own host.
func (p place) base() string {
	u := url.URL{Scheme: "https", Host: p.endpoint}
	if p.plain {
		u.Scheme = "http"
	}
	inHost := p.lookup == inHost || p.lookup == byServer && s3utils.IsVirtualHostSupported(u, p.bucket)
	if p.endpoint == amazon {
		u.Host = "s3.dualstack." + p.region + ".amazonaws.com"
		if strings.HasPrefix(p.region, "cn-") {
			u.Host += ".cn"
		}
	}
	if inHost {
		return u.Scheme + "://" + p.bucket + "." + u.Host + "/"
	}
	return u.Scheme + "://" + u.Host + "/" + p.bucket + "/"
}

// request is a request about an object, or about the bucket if it has no key.
type request struct {
	method, key string
	query       url.Values
	// span is the header Range; empty: all.
	span string
	body []byte
	// stream leaves the body of the answer to the caller.
	stream bool
}

// refusal is an error that a server answered.
type refusal struct {
	XMLName       xml.Name
	Code, Message string
	status        int
}

func (e *refusal) Error() string { return cmp.Or(e.Message, "Error response code "+e.Code+".") }

// code returns the error code of the protocol, or "" for another error.
func code(err error) string {
	var e *refusal
	if err == nil || !errors.As(err, &e) {
		return ""
	}
	return e.Code
}

// do sends a request until it has a result that would not change soon. If the request
// streams, the caller reads and closes the body of the answer, which is nil.
func (c *client) do(ctx context.Context, r request) (answer *http.Response, body []byte, err error) {
	for try := 0; ; try++ {
		again := false
		answer, body, again, err = c.try(ctx, r)
		if err == nil || !again || try == maxTries-1 {
			return answer, body, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(rand.N(min(firstPause<<try, maxPause))): // #nosec G404 -- it spreads retries
		}
	}
}

// try sends a request once. It reports whether the request may have another result later.
func (c *client) try(ctx context.Context, r request) (answer *http.Response, body []byte, again bool, err error) {
	keys, err := c.keys.GetWithContext(nil)
	if err != nil {
		return nil, nil, false, err
	}
	address := c.base + s3utils.EncodePath(r.key)
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, r.method, address, bytes.NewReader(r.body))
	if err != nil {
		return nil, nil, false, err
	}
	// The server verifies with both that the body arrived unchanged. Some buckets take no
	// object without Content-MD5.
	sum := sha256.Sum256(r.body)
	request.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	if len(r.body) > 0 {
		weak := md5.Sum(r.body) // #nosec G401 -- it is the protocol's check of a transmission
		request.Header.Set("Content-Md5", base64.StdEncoding.EncodeToString(weak[:]))
	}
	if r.method == http.MethodPut || r.method == http.MethodPost {
		request.Header.Set("Content-Type", "application/octet-stream")
	}
	if r.span != "" {
		request.Header.Set("Range", r.span)
	}
	request.Header.Set("User-Agent", "Kith")
	request = signer.SignV4(*request, keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken, c.region)
	if answer, err = c.http.Do(request); err != nil {
		var authority x509.UnknownAuthorityError
		return nil, nil, ctx.Err() == nil && !errors.As(err, &authority) && !strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"), err
	}
	if r.stream && answer.StatusCode < 300 {
		return answer, nil, false, nil
	}
	defer answer.Body.Close()
	if body, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer)); err != nil {
		return nil, nil, ctx.Err() == nil, err
	}
	if e := refusalOf(answer, body, r.key); e != nil {
		return nil, nil, e.again(), e
	}
	return answer, body, false, nil
}

// refusalOf returns the error in an answer, or what its status says. Also an answer with
// the status 200 may be an error: some begin before the result is known.
func refusalOf(answer *http.Response, body []byte, key string) *refusal {
	e := &refusal{}
	known := xml.Unmarshal(body, e) == nil && e.Code != ""
	if e.status = answer.StatusCode; e.status < 300 {
		if known && e.XMLName.Local == "Error" {
			return e
		}
		return nil
	}
	switch {
	case known:
	case e.status == http.StatusNotFound && key == "":
		e.Code, e.Message = "NoSuchBucket", "The specified bucket does not exist."
	case e.status == http.StatusNotFound:
		e.Code, e.Message = "NoSuchKey", "The specified key does not exist."
	case e.status == http.StatusForbidden:
		e.Code, e.Message = "AccessDenied", "Access Denied."
	default:
		e.Code, e.Message = answer.Status, ""
	}
	return e
}

// again reports whether a request may have another result later.
func (e *refusal) again() bool {
	switch e.Code {
	case "RequestError", "RequestTimeout", "Throttling", "ThrottlingException", "RequestLimitExceeded", "RequestThrottled", "InternalError",
		"ExpiredToken", "ExpiredTokenException", "SlowDown", "SlowDownWrite", "SlowDownRead":
		return true
	}
	switch e.status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, 499, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, 520:
		return true
	}
	return false
}

// ask sends a request, and decodes the XML of the answer, unless into is nil.
func (c *client) ask(ctx context.Context, r request, into any) (http.Header, error) {
	answer, body, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	if into != nil {
		err = xml.Unmarshal(body, into)
	}
	return answer.Header, err
}

// get reads an object from a position.
func (c *client) get(ctx context.Context, key string, from int64) (io.ReadCloser, error) {
	r := request{method: http.MethodGet, key: key, stream: true}
	if from > 0 {
		r.span = "bytes=" + strconv.FormatInt(from, 10) + "-"
	}
	answer, _, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	if from > 0 && answer.StatusCode != http.StatusPartialContent {
		_ = answer.Body.Close()
		return nil, fmt.Errorf("the server ignores the header Range: it answers %s", answer.Status)
	}
	return answer.Body, nil
}

func (c *client) put(ctx context.Context, key string, body []byte) error {
	_, err := c.ask(ctx, request{method: http.MethodPut, key: key, body: body}, nil)
	return err
}

func (c *client) remove(ctx context.Context, key string) error {
	_, err := c.ask(ctx, request{method: http.MethodDelete, key: key}, nil)
	return err
}

// begin begins an upload in parts, and returns its id.
func (c *client) begin(ctx context.Context, key string) (string, error) {
	var answer struct {
		UploadID string `xml:"UploadId"`
	}
	_, err := c.ask(ctx, request{method: http.MethodPost, key: key, query: url.Values{"uploads": {""}}}, &answer)
	if err == nil && answer.UploadID == "" {
		err = errors.New("the server began an upload without an id")
	}
	return answer.UploadID, err
}

// part is a part of an upload that has arrived.
type part struct {
	PartNumber int
	ETag       string
}

func (c *client) putPart(ctx context.Context, key, upload string, number int, body []byte) (part, error) {
	h, err := c.ask(ctx, request{method: http.MethodPut, key: key, body: body, query: url.Values{"partNumber": {strconv.Itoa(number)}, "uploadId": {upload}}}, nil)
	return part{number, strings.Trim(h.Get("ETag"), `"`)}, err
}

// complete joins the parts of an upload to an object.
func (c *client) complete(ctx context.Context, key, upload string, parts []part) error {
	body, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CompleteMultipartUpload"`
		Part    []part
	}{Part: parts})
	if err != nil {
		return err
	}
	var answer struct{ Bucket string }
	_, err = c.ask(ctx, request{method: http.MethodPost, key: key, body: body, query: url.Values{"uploadId": {upload}}}, &answer)
	if err == nil && answer.Bucket == "" {
		err = errors.New("the answer of the server does not name the bucket of the object")
	}
	return err
}

func (c *client) abort(ctx context.Context, key, upload string) error {
	_, err := c.ask(ctx, request{method: http.MethodDelete, key: key, query: url.Values{"uploadId": {upload}}}, nil)
	return err
}

// uploads returns the ids of the uploads to a key that are not complete.
func (c *client) uploads(ctx context.Context, key string) (ids []string, err error) {
	var answer struct {
		Upload []struct {
			Key      string
			UploadID string `xml:"UploadId"`
		}
	}
	// The delimiter excludes objects in folders whose names begin with the key.
	_, err = c.ask(ctx, request{method: http.MethodGet, query: url.Values{"uploads": {""}, "prefix": {key}, "delimiter": {"/"}}}, &answer)
	for _, one := range answer.Upload {
		if one.Key == key {
			ids = append(ids, one.UploadID)
		}
	}
	return ids, err
}
