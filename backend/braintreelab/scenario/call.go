package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"kith/backend/braintreelab"
	"kith/backend/gateway/xmltree"
)

// maxAnswer bounds the size of an answer, in bytes.
const maxAnswer = 64 << 20

// refusal is a step that the gateway refused.
type refusal struct {
	codes   []string
	message string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("refused with %s: %s", strings.Join(r.codes, " "), r.message)
}

// State returns the state of the lab.
func (p *Player) State(ctx context.Context) (state braintreelab.State, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/lab/state", nil)
	if err != nil {
		return state, err
	}
	_, text, err := p.do(request)
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	return state, err
}

// control returns a verb that uses a control of the lab with the values of its step.
func (p *Player) control(name string) Verb {
	return func(ctx context.Context, s Step) error {
		form := url.Values{}
		for k, v := range s.Named {
			form.Set(k, v)
		}
		return p.use(ctx, name, form)
	}
}

// word returns a verb that uses a control with its word as the value of a field.
func (p *Player) word(control, field string) Verb {
	return func(ctx context.Context, s Step) error { return p.use(ctx, control, url.Values{field: {s.Word(0)}}) }
}

func (p *Player) use(ctx context.Context, name string, form url.Values) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/lab/"+name, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, text, err := p.do(request)
	if err == nil && status != http.StatusOK {
		err = &refusal{message: string(text)}
	}
	return err
}

// call makes one of the gateway's calls, as the merchant does.
func (p *Player) call(ctx context.Context, method, path string, body *xmltree.Node) error {
	var sent io.Reader
	if body != nil {
		sent = bytes.NewReader(body.Encode())
	}
	request, err := http.NewRequestWithContext(ctx, method, p.base+"/merchants/"+braintreelab.MerchantID+path, sent)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/xml")
	request.SetBasicAuth(braintreelab.PublicKey, braintreelab.PrivateKey)
	status, text, err := p.do(request)
	if err != nil || status < 300 {
		return err
	}
	if status != http.StatusUnprocessableEntity {
		return &refusal{codes: []string{fmt.Sprint(status)}}
	}
	doc, err := xmltree.Parse(text)
	if err != nil {
		return err
	}
	return &refusal{codes: codes(doc.At("errors")), message: doc.Value("message")}
}

func codes(n *xmltree.Node) (all []string) {
	if n == nil {
		return nil
	}
	for _, c := range n.Children {
		if c.Name == "error" {
			all = append(all, c.Value("code"))
		} else {
			all = append(all, codes(c)...)
		}
	}
	return all
}

func (p *Player) do(request *http.Request) (status int, text []byte, err error) {
	answer, err := p.http.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	return answer.StatusCode, text, err
}
