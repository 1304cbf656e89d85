package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"kith/backend/app"
	"kith/backend/braintreelab"
	"kith/backend/demo"
	"kith/core/billing"
)

type gatewaylabCommand struct {
	LabAddr string `env:"KITH_LAB_ADDR" default:"127.0.0.1:8090" help:"Address that the lab listens on. It has no access control."`
	Journal string `env:"KITH_LAB_JOURNAL" help:"File that stores the lab's data across restarts. Default: none; each start is empty." placeholder:"FILE"`
}

// Run serves a lab until the context ends.
func (c *gatewaylabCommand) Run(e *env) error {
	lab, listener, err := openLab(c.LabAddr, c.Journal)
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

func openLab(addr, journal string) (*braintreelab.Lab, net.Listener, error) {
	listener, err := listen(addr)
	if err != nil {
		return nil, nil, err
	}
	lab, err := braintreelab.New(braintreelab.Options{Journal: journal})
	if err != nil {
		_ = listener.Close()
		return nil, nil, err
	}
	return lab, listener, nil
}

// serveLab serves the lab until the context ends, and then closes it.
func serveLab(e *env, lab *braintreelab.Lab, listener net.Listener) error {
	ctx, stop := context.WithCancel(e.ctx)
	var running sync.WaitGroup
	running.Go(func() { lab.Run(ctx) })
	err := e.serveHTTP(listener, lab)
	stop()
	running.Wait()
	if closed := lab.Close(); err == nil {
		err = closed
	}
	return err
}

// off is the address that disables a server.
const off = "off"

// startLab starts the lab of `kith dev`, with its journal in the data folder. It returns
// the lab, its base URL and a function that stops it; lab is nil if it is disabled. An
// error of the lab after the start is logged, and the other servers continue.
func (c *devCommand) startLab(e *env) (lab *braintreelab.Lab, baseURL string, stop func(), err error) {
	if c.LabAddr == off {
		return nil, "", func() {}, nil
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, "", nil, fmt.Errorf("data folder: %w", err)
	}
	lab, listener, err := openLab(c.LabAddr, filepath.Join(c.Data, "gatewaylab.journal"))
	if err != nil {
		return nil, "", nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(e.ctx))
	var running sync.WaitGroup
	running.Go(func() {
		if err := serveLab(&env{ctx: ctx, out: e.out, log: e.log}, lab, listener); err != nil {
			e.log.Error("gateway lab", "error", err)
		}
	})
	return lab, "http://" + reachable(listener.Addr().String()), func() { cancel(); running.Wait() }, nil
}

// connectLab connects the demo's test tenant to the lab, and registers the edge for the
// lab's notifications as soon as the edge answers. It does nothing if the tenant is
// connected to another gateway.
func connectLab(ctx context.Context, e *env, engine *app.Engine, lab *braintreelab.Lab, labURL, edgeURL string) error {
	have, err := engine.Gateways.Connection(ctx, demo.TestTenant)
	if err == nil && have.MerchantID != braintreelab.MerchantID {
		return nil
	}
	_, err = engine.Gateways.Connect(ctx, demo.TestTenant, billing.Connection{
		MerchantID: braintreelab.MerchantID, BaseURL: labURL,
		Keys: []billing.Key{{Public: braintreelab.PublicKey, Private: braintreelab.PrivateKey}},
	})
	if err != nil {
		return err
	}
	webhook := edgeURL + "/api/v1/" + string(demo.TestTenant) + "/gateway/braintree/webhook"
	go func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil && lab.Register(ctx, webhook) != nil {
			<-tick.C
		}
		e.log.Debug("gateway lab", "webhook", webhook)
	}()
	return nil
}
