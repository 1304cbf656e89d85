package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"kith/backend/api"
	"kith/backend/app"
	"kith/backend/app/payments"
	"kith/backend/braintreelab"
	"kith/backend/demo"
	demoshop "kith/backend/demo/shop"
	"kith/backend/stripelab"
	"kith/core"
	"kith/core/billing"
)

type devCommand struct {
	backendFlags
	edgeFlags
	LabAddr       string `env:"KITH_LAB_ADDR" default:"127.0.0.1:8090" help:"Address that the gateway lab listens on; off disables it."`
	StripeLabAddr string `env:"KITH_STRIPE_LAB_ADDR" default:"127.0.0.1:8091" help:"Address that the Stripe lab listens on; off disables it."`
	DemoGateway   string `env:"KITH_DEMO_GATEWAY" enum:"braintree,stripe" default:"braintree" help:"Gateway of the demo's test tenant and its shop: braintree or stripe."`
	SFTPAddr      string `env:"KITH_SFTP_ADDR" default:"127.0.0.1:2022" help:"Address of the SFTP server that receives files to import; off disables it."`
}

// Run serves edge and backend on one database until the context ends. The edge stops
// first, so that the backend answers the requests that the edge has forwarded.
func (c *devCommand) Run(e *env) error {
	limitMemory(2)
	tracer, err := c.openTracer(e, "backend")
	if err != nil {
		return err
	}
	defer tracer.Close()
	edgeTracer, err := c.openTracer(e, "edge")
	if err != nil {
		return err
	}
	defer edgeTracer.Close()
	engine, err := c.open(e, tracer)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	defer engine.Files.Store.Close()
	trusted, err := c.proxies()
	if err != nil {
		return err
	}
	tolerance, err := c.clockTolerance()
	if err != nil {
		return err
	}
	listener, err := listen("backend-addr", c.BackendAddr)
	if err != nil {
		return err
	}
	edge, err := listen("edge-addr", c.EdgeAddr)
	if err != nil {
		return err
	}
	backendURL := "http://" + reachable(listener.Addr().String())
	loaded, database, err := c.load(e, &c.databaseFlags, edgeTracer, c.timeoutFlags, trusted, tolerance, backendURL)
	if err != nil {
		return err
	}
	e.configLevel = slog.LevelDebug // the terminal shows one address and one password
	logConfig(e, "backend", c.backendFlags)
	c.edgeFlags.logConfig(e, c.databaseFlags, c.connectionFlags, backendURL)
	edgeURL := "http://" + reachable(edge.Addr().String())
	if err := demo.SeedShop(e.ctx, engine, edgeURL, testURL(edgeURL)); err != nil {
		return err
	}
	password, err := demo.Owner(e.ctx, engine)
	if err != nil {
		return err
	}
	replicas, err := openReplicas(database, &c.databaseFlags, c.DatabaseURL)
	if err != nil {
		return err
	}
	defer replicas.close()
	observeBackend(e, engine)
	counter := newVisits(now, database)
	observeEdge(e, loaded, replicas)
	observeVisits(e, counter, engine.Analytics.Visits)
	observeTraces(e, tracer, edgeTracer)
	if err := c.serveOps(e, map[string]probe{"database": engine.Health.Ready}); err != nil {
		return err
	}
	labs, err := c.startLabs(e)
	if err != nil {
		return err
	}
	defer labs.stop()
	if err := labs.connect(engine, billing.Kind(c.DemoGateway), edgeURL); err != nil {
		return err
	}
	sftp, upload, err := c.demoSFTP(e.ctx, e, engine)
	if err != nil {
		return err
	}
	pages, err := c.demoPages(e, engine, demo.Developers{Edge: edgeURL, Backend: backendURL, Lab: labs.braintreeURL, StripeLab: labs.stripeURL, Data: c.Data, SFTP: upload, Owner: demo.OwnerEmail})
	if err != nil {
		return err
	}
	banner(e.out, edgeURL, password)
	return c.serve(e, func(own *env) error {
		return serveEdge(own, loaded, edgeTracer, counter, edge, c.connectionFlags, trusted)
	},
		func(own *env) error {
			return backend{
				engine: engine, tracer: tracer, listener: listener, pages: pages, explorer: explorer(), sftp: sftp, flags: c.backendFlags,
			}.serve(own)
		})
}

// demoPages returns the demo shop, the page for developers and the referrer's widget.
// Without a lab, the shop takes no payments.
func (c *devCommand) demoPages(e *env, engine *app.Engine, d demo.Developers) (*http.ServeMux, error) {
	test := demoshop.Tenant{Alias: string(demo.TestTenant), Key: demo.TestKey, URL: testURL(d.Edge), Connected: d.Lab != ""}
	if billing.Kind(c.DemoGateway) == billing.Stripe {
		test.Connected, test.Stripe = d.StripeLab != "", &demoshop.Stripe{URL: d.StripeLab, Key: stripelab.SecretKey}
	}
	s, err := demoshop.New(demoshop.Config{
		Tenants: []demoshop.Tenant{
			{Alias: string(demo.LiveTenant), Key: demo.LiveKey, URL: d.Edge},
			test,
		},
		Gateway: demoshop.Gateway{
			URL: d.Lab, MerchantID: braintreelab.MerchantID, PublicKey: braintreelab.PublicKey, Password: braintreelab.PrivateKey, DiscountID: "svc_discount",
		},
		Folder: c.Data, Portal: "/portal/signin?email=" + url.QueryEscape(d.Owner), Developers: demo.DevelopersPath,
		Story: demo.Story{Engine: engine, Log: e.log}, Log: e.log,
	})
	if err != nil {
		return nil, err
	}
	return demo.Pages(engine, s, d), nil
}

// explorer returns the GraphiQL page with the keys of the demo tenants.
func explorer() *api.GraphiQL {
	headers := map[core.TenantAlias]string{}
	for tenant, key := range map[core.TenantAlias]string{demo.LiveTenant: demo.LiveKey, demo.TestTenant: demo.TestKey} {
		headers[tenant] = `{"Authorization": "Basic ` + base64.StdEncoding.EncodeToString([]byte(":"+key)) + `"}`
	}
	return &api.GraphiQL{Headers: headers}
}

// testURL returns the URL of the edge for the test tenant: the same address under
// another host name, because the host of a page determines its tenant.
func testURL(edgeURL string) string { return strings.Replace(edgeURL, "127.0.0.1", "localhost", 1) }

// serve runs both until the context ends or one of them fails, and stops the
// edge before the backend.
func (c *devCommand) serve(e *env, edge, backend func(*env) error) error {
	edgeCtx, stopEdge := context.WithCancel(e.ctx)
	defer stopEdge()
	backendCtx, stopBackend := context.WithCancel(context.WithoutCancel(e.ctx))
	defer stopBackend()
	edgeDone, backendDone := make(chan error, 1), make(chan error, 1)
	go func() { edgeDone <- edge(e.within(edgeCtx)) }()
	go func() { backendDone <- backend(e.within(backendCtx)) }()
	select {
	case err := <-edgeDone:
		stopBackend()
		if backendErr := <-backendDone; err == nil {
			err = backendErr
		}
		return err
	case err := <-backendDone:
		stopEdge()
		<-edgeDone
		return err
	}
}

// reachable returns an address that a browser on this machine can open: the loopback
// address for a server that listens on all interfaces.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// banner prints one address and one password. Everything else is on a page.
func banner(out io.Writer, edgeURL, password string) {
	if password == "" {
		password = "the one that you chose; kith person reset-password " + demo.OwnerEmail + " makes a link for a new one"
	}
	fmt.Fprintf(out, `
  Kith is running.                                       Ctrl-C stops it.

  Open       %s
  Password   %s

`, edgeURL, password)
}

type gatewaylabCommand struct {
	LabAddr string `env:"KITH_LAB_ADDR" default:"127.0.0.1:8090" help:"Address that the lab listens on. It has no access control."`
	Journal string `env:"KITH_LAB_JOURNAL" help:"File that stores the lab's data across restarts. Default: none; each start is empty." placeholder:"FILE"`
}

// Run serves a lab until the context ends.
func (c *gatewaylabCommand) Run(e *env) error {
	listener, err := listen("lab-addr", c.LabAddr)
	if err != nil {
		return err
	}
	lab, err := braintreelab.New(braintreelab.Options{Journal: c.Journal})
	if err != nil {
		_ = listener.Close()
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
	listener, err := listen("stripe-lab-addr", c.StripeLabAddr)
	if err != nil {
		return err
	}
	lab, err := stripelab.New(stripelab.Options{Journal: c.Journal, Log: e.log})
	if err != nil {
		_ = listener.Close()
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

// serveLab serves a lab until the context ends, and then closes it.
func serveLab(e *env, lab laboratory, listener net.Listener) error {
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
			return stripelab.New(stripelab.Options{Journal: filepath.Join(c.Data, "stripelab.journal"), Log: e.log})
		})
	}
	if err != nil {
		l.stop()
	}
	return l, err
}

// start serves the lab that open returns, and returns its base URL.
func (l *labs) start(flag, addr string, open func() (laboratory, error)) (baseURL string, err error) {
	listener, err := listen(flag, addr)
	if err != nil {
		return "", err
	}
	lab, err := open()
	if err != nil {
		_ = listener.Close()
		return "", err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.e.ctx))
	var running sync.WaitGroup
	running.Go(func() {
		if err := serveLab(&env{ctx: ctx, out: l.e.out, log: l.e.log}, lab, listener); err != nil {
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
		_, err := engine.Gateways.ConnectStripe(ctx, demo.TestTenant, payments.StripeSettings{
			APIKey: stripelab.SecretKey, BaseURL: l.stripeURL, Credit: billing.CreditBalance,
		}, edgeURL+payments.StripeWebhook(demo.TestTenant))
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
