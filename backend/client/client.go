// Package client is a client of Kith's API, with a tenant's API key. It shares only the
// wire format with the server.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"time"

	"kith/core"
	"kith/core/job"
)

// Client calls the API for one tenant. URL, Tenant and Key must be set. It is safe for
// concurrent use.
type Client struct {
	// URL is the base URL of the service, such as http://127.0.0.1:8080. It may have a
	// path.
	URL    string
	Tenant core.TenantAlias
	Key    string
	// HTTP makes the calls. nil means a client that waits up to a minute for the
	// beginning of an answer, and without limit for its body.
	HTTP *http.Client
}

var defaultClient = &http.Client{Transport: func() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = time.Minute
	return t
}()}

// Refused is an error answer (clients 6.1.1).
type Refused struct {
	Status  int
	Message string
}

// Error returns the message of the service.
func (r *Refused) Error() string { return r.Message }

// Upload sends a file and returns the reference by which jobs name it. The ending of
// name is the format of the file.
func (c *Client) Upload(ctx context.Context, name string, file io.Reader) (core.FileRef, error) {
	from, to := io.Pipe()
	form := multipart.NewWriter(to)
	go func() {
		part, err := form.CreateFormFile("file", name)
		if err == nil {
			_, err = io.Copy(part, file)
		}
		if err == nil {
			err = form.Close()
		}
		_ = to.CloseWithError(err)
	}()
	defer from.Close()
	var answer struct{ FileRef core.FileRef }
	err := c.call(ctx, "/export/upload", form.FormDataContentType(), from, &answer)
	return answer.FileRef, err
}

// Input describes a job to create (spec 2.2).
type Input struct {
	Type         job.Type        `json:"type"`
	FileRef      core.FileRef    `json:"fileRef,omitempty"`
	Name         string          `json:"name,omitempty"`
	OutputFormat job.Format      `json:"outputFormat,omitempty"`
	Params       json.RawMessage `json:"params,omitempty"`
}

// Job is a job as the API returns it.
type Job struct {
	ID      string
	Status  job.Status
	Message string
	Stats   struct{ RecordsProcessed, Errors int64 }
}

const jobFields = `{ id status message stats { recordsProcessed errors } }`

// Validate returns the errors in the file of a job, without creating the job.
func (c *Client) Validate(ctx context.Context, in Input) ([]string, error) {
	var data struct{ ValidateJobCreation struct{ Errors []string } }
	err := c.graphQL(ctx, `query validate($jobInput: JobInput!) { validateJobCreation(jobInput: $jobInput) { errors } }`,
		map[string]any{"jobInput": in}, &data)
	return data.ValidateJobCreation.Errors, err
}

// CreateJob creates a job.
func (c *Client) CreateJob(ctx context.Context, in Input) (Job, error) {
	var data struct{ CreateJob Job }
	err := c.graphQL(ctx, `mutation createJob($jobInput: JobInput!) { createJob(jobInput: $jobInput) `+jobFields+` }`,
		map[string]any{"jobInput": in}, &data)
	return data.CreateJob, err
}

// Job returns the current state of a job.
func (c *Client) Job(ctx context.Context, id string) (Job, error) {
	var data struct{ Job *Job }
	err := c.graphQL(ctx, `query job($id: ID!) { job(id: $id) `+jobFields+` }`, map[string]any{"id": id}, &data)
	if err == nil && data.Job == nil {
		err = &Refused{Status: http.StatusNotFound, Message: "no such job"}
	}
	if err != nil {
		return Job{}, err
	}
	return *data.Job, nil
}

// Download writes a file of a job to a writer.
func (c *Client) Download(ctx context.Context, id string, which job.Attachment, to io.Writer) error {
	response, err := c.send(ctx, http.MethodGet, "/export/"+url.PathEscape(id)+"/download?file="+string(which), "", nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(to, response.Body)
	return err
}

func (c *Client) graphQL(ctx context.Context, query string, variables map[string]any, data any) error {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return err
	}
	var answer struct {
		Data   json.RawMessage
		Errors []struct {
			Message    string
			Extensions struct{ APIError struct{ StatusCode int } }
		}
	}
	if err := c.call(ctx, "/graphql", "application/json", bytes.NewReader(body), &answer); err != nil {
		return err
	}
	if len(answer.Errors) > 0 {
		return &Refused{Status: answer.Errors[0].Extensions.APIError.StatusCode, Message: answer.Errors[0].Message}
	}
	return json.Unmarshal(answer.Data, data)
}

func (c *Client) call(ctx context.Context, path, contentType string, body io.Reader, answer any) error {
	response, err := c.send(ctx, http.MethodPost, path, contentType, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(answer)
}

// maxAnswer bounds an answer that is not a file.
const maxAnswer = 8 << 20

func (c *Client) send(ctx context.Context, method, path, contentType string, body io.Reader) (*http.Response, error) {
	target := strings.TrimSuffix(c.URL, "/") + "/api/v1/" + url.PathEscape(string(c.Tenant)) + path
	r, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	r.SetBasicAuth("", c.Key)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	caller := c.HTTP
	if caller == nil {
		caller = defaultClient
	}
	response, err := caller.Do(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < 300 {
		return response, nil
	}
	defer response.Body.Close()
	refused := Refused{Status: response.StatusCode}
	text, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if json.Unmarshal(text, &refused) != nil || refused.Message == "" {
		refused.Message = fmt.Sprintf("%s answered %s", target, response.Status)
	}
	return nil, &refused
}
