package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"

	"kith/backend/api"
	"kith/backend/app"
	"kith/backend/app/visits"
	"kith/backend/braintreelab"
	"kith/backend/demo"
	demoshop "kith/backend/demo/shop"
	"kith/backend/stripelab"
	"kith/core"
	"kith/core/billing"
	"kith/core/link"
)

type devCommand struct {
	backendFlags
	edgeFlags
	LabAddr       string `env:"KITH_LAB_ADDR" default:"127.0.0.1:8090" help:"Address that the gateway lab listens on; off disables it."`
	StripeLabAddr string `env:"KITH_STRIPE_LAB_ADDR" default:"127.0.0.1:8091" help:"Address that the Stripe lab listens on; off disables it."`
	DemoGateway   string `env:"KITH_DEMO_GATEWAY" enum:"braintree,stripe," default:"" placeholder:"KIND" help:"Gateway of the demo's test tenant and its shop at the start: braintree or stripe. Default: the one that was chosen last in the shop, at first braintree."`
	SFTPAddr      string `env:"KITH_SFTP_ADDR" default:"127.0.0.1:2022" help:"Address of the SFTP server that receives files to import; off disables it."`
}

// Run serves edge and backend on one database until the context ends. The edge stops
// first, so that the backend answers the requests that the edge has forwarded.
func (c *devCommand) Run(e *env) error {
	limitMemory(2)
	if err := errors.Join(c.backendFlags.check(e), checkAddr("edge-addr", c.EdgeAddr), c.edgeFlags.check("http://127.0.0.1"), checkAddr("sftp-addr", c.SFTPAddr, "", off),
		checkAddr("lab-addr", c.LabAddr, off), checkAddr("stripe-lab-addr", c.StripeLabAddr, off),
		checkDistinct("backend-addr", c.BackendAddr, "edge-addr", c.EdgeAddr, "ops-addr", c.OpsAddr, "sftp-addr", c.SFTPAddr, "lab-addr", c.LabAddr, "stripe-lab-addr", c.StripeLabAddr)); err != nil {
		return err
	}
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
	trusted, tolerance, err := c.parse()
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
	counter := visits.New(now, storeIn(database))
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
	kind, err := labs.connectAtStart(engine, billing.Kind(c.DemoGateway), edgeURL)
	if err != nil {
		return err
	}
	sftp, upload, err := c.demoSFTP(e.ctx, e, engine)
	if err != nil {
		return err
	}
	choose := func(_ context.Context, stripe bool) error { return labs.choose(engine, stripe, edgeURL) }
	pages, err := c.demoPages(e, engine, kind, choose, demo.Developers{Edge: edgeURL, Backend: backendURL, Lab: labs.braintreeURL, StripeLab: labs.stripeURL, Data: c.Data, SFTP: upload, Owner: demo.OwnerEmail})
	if err != nil {
		return err
	}
	banner(e.out, edgeURL, password)
	warnOfPublicKeys(e.out, c.EdgeAddr, c.BackendAddr)
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
func (c *devCommand) demoPages(e *env, engine *app.Engine, kind billing.Kind, choose func(context.Context, bool) error, d demo.Developers) (*http.ServeMux, error) {
	test := demoshop.Tenant{
		Alias: string(demo.TestTenant), Key: demo.TestKey, URL: testURL(d.Edge), Connected: d.Lab != "",
		Stripe: &demoshop.Stripe{URL: d.StripeLab, Key: stripelab.SecretKey}, AtStripe: kind == billing.Stripe,
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
		Story: demo.Story{Engine: engine, Log: e.log}, Choose: choose, Log: e.log,
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

// warnOfPublicKeys prints a warning if an address can be reached from other machines.
func warnOfPublicKeys(out io.Writer, addrs ...string) {
	for _, addr := range addrs {
		if !link.Loopback(addr) {
			fmt.Fprintf(out, "  WARNING: the API keys of kith dev are public. Each machine that reaches %s can\n  read and change all data. Run kith serve and kith edge for a service of your own.\n\n", addr)
			return
		}
	}
}

// banner prints where to begin. Everything else is on a page.
func banner(out io.Writer, edgeURL, password string) {
	if password == "" {
		password = "the one that you chose; kith person reset-password " + demo.OwnerEmail + " makes a link for a new one"
	}
	fmt.Fprintf(out, `
  Kith is running.                                       Ctrl-C stops it.

  Shop       %[1]s
  Portal     %[1]s/portal, sign in as %[2]s
  Password   %[3]s
  API        %[1]s/docs, tenant %[4]s, key %[5]s

`, edgeURL, demo.OwnerEmail, password, demo.LiveTenant, demo.LiveKey)
}
