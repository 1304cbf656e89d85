// Package identity signs people in by OpenID Connect: it sends a browser to an identity
// provider, and verifies what the provider answers.
package identity

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"kith/core"
)

// Settings are how the service is registered at an identity provider.
type Settings struct {
	// Issuer is the URL of the provider; its metadata is below /.well-known.
	Issuer           string
	ClientID, Secret string
	// Redirect is the URL to which the provider sends a browser back.
	Redirect string
}

// Provider is an identity provider. It is safe for concurrent use.
type Provider struct {
	settings Settings
	client   *http.Client

	mu    sync.Mutex
	found *discovered
}

// discovered is what a provider says of itself. Its keys are read again when it changes
// them.
type discovered struct {
	config   oauth2.Config
	verifier *oidc.IDTokenVerifier
}

const (
	// timeout limits each call of a provider, and maxAnswer its answer in bytes.
	timeout   = 10 * time.Second
	maxAnswer = 1 << 20
)

// New returns a provider. It calls it for the first time when a person signs in, so that
// the service starts without it.
func New(s Settings) *Provider {
	return &Provider{settings: s, client: &http.Client{Timeout: timeout, Transport: bounded{http.DefaultTransport}}}
}

// bounded limits the size of answers.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, err
}

// discover reads what the provider says of itself, once.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	// The provider keeps the context, to read its keys later.
	known, err := oidc.NewProvider(context.WithoutCancel(oidc.ClientContext(ctx, p.client)), p.settings.Issuer)
	if err != nil {
		return nil, unreachable(err)
	}
	p.found = &discovered{
		config: oauth2.Config{
			ClientID: p.settings.ClientID, ClientSecret: p.settings.Secret, Endpoint: known.Endpoint(), RedirectURL: p.settings.Redirect,
			Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
		},
		verifier: known.Verifier(&oidc.Config{ClientID: p.settings.ClientID}),
	}
	return p.found, nil
}

func unreachable(err error) error {
	return &core.Error{Code: core.CodeUnavailable, Message: "the identity provider does not answer; try again, or sign in with your password", Err: err}
}

// Attempt has the secrets of one sign-in. The browser keeps them until it comes back.
type Attempt struct{ State, Nonce, Verifier string }

// NewAttempt returns the secrets of a new sign-in.
func NewAttempt() Attempt {
	return Attempt{oauth2.GenerateVerifier(), oauth2.GenerateVerifier(), oauth2.GenerateVerifier()}
}

// URL returns the page of the provider on which the person signs in.
func (p *Provider) URL(ctx context.Context, a Attempt) (string, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	return found.config.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

// Account is a person's account at a provider, as the provider has signed it.
type Account struct {
	Issuer, Subject string
	Email           string `json:"email"`
	Verified        bool   `json:"email_verified"`
	Name            string `json:"name"`
}

// Redeem exchanges the code with which a browser came back for the person's account.
func (p *Provider) Redeem(ctx context.Context, a Attempt, code string) (account Account, err error) {
	found, err := p.discover(ctx)
	if err != nil {
		return account, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := found.config.Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return account, refused(err)
	}
	raw, _ := token.Extra("id_token").(string)
	verified, err := found.verifier.Verify(ctx, raw)
	if err == nil && verified.Nonce != a.Nonce {
		err = fmt.Errorf("identity: the nonce differs")
	}
	if err == nil {
		err = verified.Claims(&account)
	}
	if err != nil {
		return Account{}, refused(err)
	}
	account.Issuer, account.Subject = verified.Issuer, verified.Subject
	return account, nil
}

func refused(err error) error {
	return &core.Error{Code: core.CodeForbidden, Message: "the identity provider did not confirm the sign-in; begin it again", Err: err}
}
