package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"kith/backend/app"
	"kith/backend/app/payments"
	"kith/backend/braintreelab"
	"kith/backend/demo"
	"kith/backend/stripelab"
	"kith/core"
	"kith/core/billing"
)

type gatewaylabCommand struct {
	LabAddr string `env:"KITH_LAB_ADDR" default:"127.0.0.1:8090" help:"Address that the lab listens on. It has no access control."`
	Journal string `env:"KITH_LAB_JOURNAL" help:"File that stores the lab's data across restarts. Default: none; each start is empty." placeholder:"FILE"`
}

// Run serves a lab until the context ends.
func (c *gatewaylabCommand) Run(e *env) error {
	lab, listener, err := openLab("lab-addr", c.LabAddr, func() (laboratory, error) {
		return braintreelab.New(braintreelab.Options{Journal: c.Journal})
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(e.out, `
  The gateway lab is running.                            Ctrl-C stops it.

  Page           http://%[1]s
  Base URL       http://%[1]s
  Merchant id    %[2]s
  Public key     %[3]s
  Private key    %[4]s

`, reachable(listener.Addr().String()), braintreelab.MerchantID, braintreelab.PublicKey, braintreelab.PrivateKey)
	return serveLab(e, lab, listener)
}

type stripelabCommand struct {
	StripeLabAddr string `env:"KITH_STRIPE_LAB_ADDR" default:"127.0.0.1:8091" help:"Address that the lab listens on. It has no access control."`
	Journal       string `env:"KITH_STRIPE_LAB_JOURNAL" help:"File that stores the lab's data across restarts. Default: none; each start is empty." placeholder:"FILE"`
}

// Run serves a lab until the context ends.
func (c *stripelabCommand) Run(e *env) error {
	lab, listener, err := openLab("stripe-lab-addr", c.StripeLabAddr, func() (laboratory, error) {
		return stripelab.New(stripelab.Options{Journal: c.Journal})
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(e.out, `
  The Stripe lab is running.                             Ctrl-C stops it.

  Page           http://%[1]s
  Base URL       http://%[1]s
  Secret key     %[2]s

`, reachable(listener.Addr().String()), stripelab.SecretKey)
	return serveLab(e, lab, listener)
}

// laboratory is a simulated gateway.
type laboratory interface {
	http.Handler
	Run(ctx context.Context)
	Close() error
}

// openLab listens on the address of a setting, and opens the lab that is to be served there.
func openLab(setting, addr string, open func() (laboratory, error)) (laboratory, net.Listener, error) {
	listener, err := listen(setting, addr)
	if err != nil {
		return nil, nil, err
	}
	lab, err := open()
	if err != nil {
		_ = listener.Close()
	}
	return lab, listener, err
}

// serveLab serves a lab until the context ends, and then closes it.
func serveLab(e *env, lab laboratory, listener net.Listener) error {
	ctx, stop := context.WithCancel(e.ctx)
	var running sync.WaitGroup
	running.Go(func() { lab.Run(ctx) })
	err := e.serveHTTP(listener, lab, false)
	stop()
	running.Wait()
	if closed := lab.Close(); err == nil {
		err = closed
	}
	return err
}

// off is the address that disables a server.
const off = "off"

// labs are the simulated gateways of `kith dev`, each with its journal in the data folder.
type labs struct {
	e *env
	// braintree is nil if it is disabled; the URLs are empty then.
	braintree               *braintreelab.Lab
	braintreeURL, stripeURL string
	stops                   []func()
}

// startLabs starts the labs that are not disabled. An error of a lab after the start is
// logged, and the other servers continue.
func (c *devCommand) startLabs(e *env) (l *labs, err error) {
	l = &labs{e: e}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if c.LabAddr != off {
		l.braintreeURL, err = l.start("lab-addr", c.LabAddr, func() (_ laboratory, err error) {
			l.braintree, err = braintreelab.New(braintreelab.Options{Journal: filepath.Join(c.Data, "gatewaylab.journal")})
			return l.braintree, err
		})
	}
	if err == nil && c.StripeLabAddr != off {
		l.stripeURL, err = l.start("stripe-lab-addr", c.StripeLabAddr, func() (laboratory, error) {
			return stripelab.New(stripelab.Options{Journal: filepath.Join(c.Data, "stripelab.journal")})
		})
	}
	if err != nil {
		l.stop()
	}
	return l, err
}

// start serves the lab that open returns, and returns its base URL.
func (l *labs) start(flag, addr string, open func() (laboratory, error)) (baseURL string, err error) {
	lab, listener, err := openLab(flag, addr, open)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.e.ctx))
	var running sync.WaitGroup
	running.Go(func() {
		if err := serveLab(&env{ctx: ctx, out: l.e.out, log: l.e.log, stopTimeout: l.e.stopTimeout}, lab, listener); err != nil {
			l.e.log.Error(flag, "error", err)
		}
	})
	l.stops = append(l.stops, func() { cancel(); running.Wait() })
	return "http://" + reachable(listener.Addr().String()), nil
}

func (l *labs) stop() {
	for _, stop := range l.stops {
		stop()
	}
}

// connectAtStart lets test tenants connect to the Stripe lab, connects the demo's test tenant
// to the lab of a kind of gateway, and returns the kind. If it is empty, that is the kind of the
// last connection, at first Braintree.
func (l *labs) connectAtStart(engine *app.Engine, kind billing.Kind, edgeURL string) (billing.Kind, error) {
	if l.stripeURL != "" {
		engine.Gateways.StripeLab = payments.StripeSettings{APIKey: stripelab.SecretKey, BaseURL: l.stripeURL, Credit: billing.CreditBalance}
	}
	if kind == "" {
		kind = billing.Braintree
		if have, err := engine.Gateways.Connection(l.e.ctx, demo.TestTenant); err == nil && ofLab(have) {
			kind = have.Kind
		}
	}
	return kind, l.connect(engine, kind, edgeURL)
}

// choose connects the demo's test tenant to a lab while Kith runs.
func (l *labs) choose(engine *app.Engine, stripe bool, edgeURL string) error {
	if have, err := engine.Gateways.Connection(l.e.ctx, demo.TestTenant); err == nil && !ofLab(have) {
		return errors.New("gateway: the tenant " + string(demo.TestTenant) + " is connected to a gateway that is no lab; disconnect it first")
	}
	kind := billing.Braintree
	if stripe {
		kind = billing.Stripe
	}
	return l.connect(engine, kind, edgeURL)
}

// connect connects the demo's test tenant to the lab of a kind of gateway, in place of the
// other lab. It does nothing if the tenant is connected to a gateway that is no lab.
func (l *labs) connect(engine *app.Engine, kind billing.Kind, edgeURL string) error {
	ctx := l.e.ctx
	have, err := engine.Gateways.Connection(ctx, demo.TestTenant)
	switch {
	case err == nil && !ofLab(have), kind == billing.Braintree && l.braintreeURL == "", kind == billing.Stripe && l.stripeURL == "":
		return nil
	case err == nil && have.Kind != kind:
		if err := engine.Gateways.Disconnect(ctx, demo.TestTenant); err != nil {
			return err
		}
	}
	if kind == billing.Stripe {
		_, err := engine.Gateways.ConnectStripe(ctx, demo.TestTenant, engine.Gateways.StripeLab, edgeURL+payments.StripeWebhook(demo.TestTenant))
		return err
	}
	return l.connectBraintree(engine, edgeURL)
}

// ofLab reports whether a connection leads to a lab.
func ofLab(c billing.Connection) bool {
	if c.Kind == billing.Stripe {
		return len(c.Keys) > 0 && c.Keys[0].Public == billing.StripeKey(stripelab.SecretKey).Public
	}
	return c.MerchantID == braintreelab.MerchantID
}

// connectBraintree also registers the edge for the lab's notifications as soon as the edge
// answers.
func (l *labs) connectBraintree(engine *app.Engine, edgeURL string) error {
	_, err := engine.Gateways.Connect(l.e.ctx, demo.TestTenant, billing.Connection{
		Kind: billing.Braintree, MerchantID: braintreelab.MerchantID, BaseURL: l.braintreeURL,
		Keys: []billing.Key{{Public: braintreelab.PublicKey, Private: braintreelab.PrivateKey}},
	})
	if err != nil {
		return err
	}
	webhook := edgeURL + braintreeWebhook(demo.TestTenant)
	go func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for l.e.ctx.Err() == nil && l.braintree.Register(l.e.ctx, webhook) != nil {
			<-tick.C
		}
		l.e.log.Debug("gateway lab", "webhook", webhook)
	}()
	return nil
}

// braintreeWebhook returns the path at which Braintree's notifications for a tenant arrive.
func braintreeWebhook(tenant core.TenantAlias) string {
	return "/api/v1/" + string(tenant) + "/gateway/braintree/webhook"
}
