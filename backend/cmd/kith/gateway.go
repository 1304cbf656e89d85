package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/braintreelab"
	"kith/backend/demo"
	"kith/core"
	"kith/core/billing"
)

type gatewayCommand struct {
	Connect    gatewayConnectCommand    `cmd:"" help:"Store how to reach a tenant's payment gateway. Private keys are stored encrypted and never shown."`
	Show       gatewayShowCommand       `cmd:"" help:"Print the stored connection, without the private keys."`
	Test       gatewayTestCommand       `cmd:"" help:"Test the keys. At Braintree, look up the tenant's discount; at Stripe, test each permission of the key, and that a test event arrives."`
	Disconnect gatewayDisconnectCommand `cmd:"" help:"Delete the stored connection and its keys, and the webhook endpoint that Kith made at Stripe."`
}

// gatewayConnectCommand connects Braintree unless another gateway is named.
type gatewayConnectCommand struct {
	Braintree gatewayBraintreeCommand `cmd:"" default:"withargs" help:"Connect Braintree. The word braintree may be left out."`
	Stripe    gatewayStripeCommand    `cmd:"" help:"Connect Stripe by a restricted key, make the webhook endpoint there, and test both."`
}

type gatewayBraintreeCommand struct {
	tenantFlags
	MerchantID  string            `required:"" help:"Merchant id at the gateway." placeholder:"ID"`
	PublicKey   string            `required:"" help:"Public key of the API key pair at the gateway." placeholder:"KEY"`
	PrivateKey  string            `env:"KITH_GATEWAY_PRIVATE_KEY" help:"Private key of the pair. Default: the private key that is stored for this public key." placeholder:"KEY"`
	FurtherKeys map[string]string `name:"further-key" help:"Another key pair, accepted as signer of notifications while you replace a key. May be repeated." placeholder:"PUBLIC=PRIVATE"`
	BaseURL     string            `help:"URL of the gateway, for a test tenant only, such as that of a gateway lab. Default: the gateway's sandbox." placeholder:"URL"`
}

// Run stores the connection and prints it.
func (c *gatewayBraintreeCommand) Run(e *env) error {
	engine, err := c.openTenant(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	connection := billing.Connection{
		Kind: billing.Braintree, MerchantID: c.MerchantID, BaseURL: c.BaseURL, Keys: []billing.Key{{Public: c.PublicKey, Private: c.PrivateKey}},
	}
	for _, public := range slices.Sorted(maps.Keys(c.FurtherKeys)) {
		connection.Keys = append(connection.Keys, billing.Key{Public: public, Private: c.FurtherKeys[public]})
	}
	stored, err := engine.Gateways.Connect(e.ctx, c.Tenant, connection)
	if err != nil {
		return err
	}
	return showGateway(e, c.Tenant, stored)
}

type gatewayShowCommand struct{ tenantFlags }

// Run prints the connection.
func (c *gatewayShowCommand) Run(e *env) error {
	engine, err := c.openTenant(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	connection, err := engine.Gateways.Connection(e.ctx, c.Tenant)
	if err != nil {
		return err
	}
	return showGateway(e, c.Tenant, connection)
}

func showGateway(e *env, tenant core.TenantAlias, c billing.Connection) error {
	if c.Kind == billing.Stripe {
		return showStripe(e, tenant, c)
	}
	var further []string
	for _, k := range c.Keys[1:] {
		further = append(further, k.Public)
	}
	host := "the gateway's production"
	if !base.Live(tenant) {
		host = cmp.Or(c.BaseURL, "the gateway's sandbox")
	}
	checked := "never"
	if c.Checked != 0 {
		checked = dateText(c.Checked)
	}
	return printLines(e, [][2]string{
		{"merchant id", c.MerchantID}, {"public key", c.Keys[0].Public}, {"private key", "set"},
		{"further public keys", cmp.Or(strings.Join(further, ", "), "none")}, {"host", host},
		{"webhook", "/api/v1/" + string(tenant) + "/gateway/braintree/webhook"}, {"connected", dateText(c.Created)}, {"checked", checked},
	})
}

// printLines prints names and values in two columns.
func printLines(e *env, lines [][2]string) error {
	out := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	for _, line := range lines {
		fmt.Fprintf(out, "%s\t%s\n", line[0], line[1])
	}
	return out.Flush()
}

type gatewayTestCommand struct {
	tenantFlags
	Wait time.Duration `default:"30s" help:"How long to wait for Stripe's test event." placeholder:"DURATION"`
}

// Run tests the connection.
func (c *gatewayTestCommand) Run(e *env) error {
	engine, err := c.openTenant(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	tenant, err := engine.Tenants.ByAlias(e.ctx, c.Tenant)
	if err != nil {
		return err
	}
	connection, err := engine.Gateways.Connection(e.ctx, c.Tenant)
	if err == nil && connection.Kind == billing.Stripe {
		return verifyStripe(e, engine, tenant, c.Wait)
	}
	found, err := engine.Gateways.Test(e.ctx, tenant)
	switch {
	case err != nil:
		return err
	case !found.Keys:
		return core.Invalid("", "the gateway rejects the merchant id or the keys: connect with others")
	case !found.Discount:
		return core.Invalid("", "the merchant has no discount "+found.DiscountID+": create it at the gateway")
	}
	_, err = fmt.Fprintf(e.out, "the gateway accepts the keys and has the discount %s\n", found.DiscountID)
	return err
}

type gatewayDisconnectCommand struct{ tenantFlags }

// Run deletes the connection.
func (c *gatewayDisconnectCommand) Run(e *env) error {
	engine, err := c.openTenant(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	if err := engine.Gateways.Disconnect(e.ctx, c.Tenant); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.out, "the payment gateway of tenant %s is disconnected\n", c.Tenant)
	return err
}

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
	listener, err := listen("lab-addr", addr)
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
		Kind: billing.Braintree, MerchantID: braintreelab.MerchantID, BaseURL: labURL,
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
