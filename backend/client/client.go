// Package client calls the API of a Kith from outside, with a tenant's API key.
// It knows the wire and nothing of the server behind it.
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

// Client is one tenant's access. URL and Tenant and Key must be set; it is safe
// for concurrent use.
type Client struct {
	// URL is where the service is, such as http://127.0.0.1:8080; a path may
	// follow.
	URL    string
	Tenant core.TenantAlias
	Key    string
	// HTTP makes the calls; nil is a client that waits up to a minute for an
	// answer to begin, and for a file as long as it takes.
	HTTP *http.Client
}

var patient = &http.Client{Transport: func() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = time.Minute
	return t
}()}

// Refused is an answer that says no (reference, 6).
type Refused struct {
	Status  int
	Message string
}

// Error says what the service said.
func (r *Refused) Error() string { return r.Message }

// Upload sends a file, of a name by which its form is known, and returns what
// jobs call it by.
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

// Input is a wish for a job (spec, Job input).
type Input struct {
	Type         job.Type        `json:"type"`
	FileRef      core.FileRef    `json:"fileRef,omitempty"`
	Name         string          `json:"name,omitempty"`
	OutputFormat job.Format      `json:"outputFormat,omitempty"`
	Params       json.RawMessage `json:"params,omitempty"`
}

// Job is a job as the service tells of it.
type Job struct {
	ID      string
	Status  job.Status
	Message string
	Stats   struct{ RecordsProcessed, Errors int64 }
}

const jobFields = `{ id status message stats { recordsProcessed errors } }`

// Validate returns what is wrong with the file of a job.
func (c *Client) Validate(ctx context.Context, in Input) ([]string, error) {
	var data struct{ ValidateJobCreation struct{ Errors []string } }
	err := c.graphQL(ctx, `query validate($jobInput: JobInput!) { validateJobCreation(jobInput: $jobInput) { errors } }`,
		map[string]any{"jobInput": in}, &data)
	return data.ValidateJobCreation.Errors, err
}

// CreateJob begins a job.
func (c *Client) CreateJob(ctx context.Context, in Input) (Job, error) {
	var data struct{ CreateJob Job }
	err := c.graphQL(ctx, `mutation createJob($jobInput: JobInput!) { createJob(jobInput: $jobInput) `+jobFields+` }`,
		map[string]any{"jobInput": in}, &data)
	return data.CreateJob, err
}

// Job returns a job as it is now.
func (c *Client) Job(ctx context.Context, id string) (Job, error) {
	var data struct{ Job *Job }
	err := c.graphQL(ctx, `query job($id: ID!) { job(id: $id) `+jobFields+` }`, map[string]any{"id": id}, &data)
	if err == nil && data.Job == nil {
		err = &Refused{Status: http.StatusNotFound, Message: "there is no such job"}
	}
	if err != nil {
		return Job{}, err
	}
	return *data.Job, nil
}

// Download copies a file of a job.
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
		caller = patient
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
