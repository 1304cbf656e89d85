package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"kith/backend/app/base"
	"kith/backend/app/tenants"
	"kith/backend/backup"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/job"
	"kith/core/link"
	"kith/core/referral"
)

type tenantCommand struct {
	Create tenantCreateCommand `cmd:"" help:"Make a tenant and its test tenant, and print their API keys, and the keys that sign their user tokens, once."`
	Show   tenantShowCommand   `cmd:"" help:"Print a tenant's settings."`
	Set    tenantSetCommand    `cmd:"" help:"Change settings of one tenant, and print all of them. A running backend has them at once, an edge when its replica has."`
	Export tenantExportCommand `cmd:"" help:"Write all that a tenant has to a file that people and programs can read."`
	Erase  tenantEraseCommand  `cmd:"" help:"Remove a tenant with all that it has, for good."`
	Origin originCommand       `cmd:"" help:"Say which pages may call the service from a browser."`
	SFTP   sftpKeyCommand      `cmd:"" name:"sftp-key" help:"Say who may send files to import over SFTP."`
}

type tenantCreateCommand struct {
	databaseFlags
	Alias         string        `arg:"" help:"Alias of the live tenant; the test tenant is test_ALIAS."`
	LandingURL    string        `required:"" help:"Page that share links lead to." placeholder:"URL"`
	AllowedHosts  []string      `name:"allow-host" help:"Further host that rsLandingPage may name. May be repeated." placeholder:"HOST"`
	Origins       []string      `name:"origin" help:"Origin whose pages may call the service from a browser, besides that of the landing page. May be repeated." placeholder:"ORIGIN"`
	Consent       string        `default:"off" enum:"off,opt-in,opt-out" help:"When the attribution cookie may be set: ${enum}."`
	ConsentCookie string        `help:"Cookie with the visitor's answer, for opt-in and opt-out." placeholder:"NAME"`
	CookieLife    time.Duration `default:"720h" help:"How long a visit is remembered."`
	DiscountID    string        `default:"svc_discount" help:"The tenant's discount at the payment gateway."`
}

const maxCookieLife = 400 * 24 * time.Hour

// Run makes both tenants.
func (c *tenantCreateCommand) Run(e *env) error {
	if c.Consent != string(link.ConsentOff) && c.ConsentCookie == "" {
		return core.Invalid("consent-cookie", "is required with consent "+c.Consent)
	}
	if c.CookieLife < time.Second || c.CookieLife > maxCookieLife {
		return core.Invalid("cookie-life", "must be 1s to 9600h: browsers keep no cookie for more than 400 days")
	}
	origins, err := parseOrigins(c.Origins)
	if err != nil {
		return err
	}
	engine, err := c.openOrMake(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	var added []tenants.NewTenant
	for _, alias := range []core.TenantAlias{core.TenantAlias(c.Alias), core.TenantAlias(base.TestPrefix + c.Alias)} {
		added = append(added, tenants.NewTenant{
			Alias: alias, Key: engine.APIKeys.MakeKey(alias), TokenKey: engine.APIKeys.MakeTokenKey(alias), Program: c.program(),
			Policy:     link.Policy{Consent: link.Consent(c.Consent), ConsentCookie: c.ConsentCookie},
			DiscountID: c.DiscountID, Origins: origins,
		})
	}
	if err := engine.Tenants.Create(e.ctx, added...); err != nil {
		return err
	}
	width := len(base.TestPrefix) + len(c.Alias)
	fmt.Fprintf(e.out, "%-*s  %-*s  key that signs user tokens\n", width, "tenant", len(added[0].Key), "API key (both are shown only now)")
	for _, t := range added {
		fmt.Fprintf(e.out, "%-*s  %s  %s\n", width, t.Alias, t.Key, t.TokenKey)
	}
	return nil
}

func (c *tenantCreateCommand) program() referral.Program {
	p := referral.DefaultProgram(c.LandingURL)
	p.AllowedHosts, p.CookieLife = c.AllowedHosts, core.Time(c.CookieLife.Milliseconds())
	return p
}

type tenantShowCommand struct {
	databaseFlags
	Alias string `arg:"" help:"Alias of the tenant."`
}

// Run prints the settings.
func (c *tenantShowCommand) Run(e *env) error {
	engine, err := c.open(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	tenant, err := engine.Tenants.ByAlias(e.ctx, core.TenantAlias(c.Alias))
	if err != nil {
		return err
	}
	return printTenant(e, tenant)
}

type tenantSetCommand struct {
	databaseFlags
	Alias          string   `arg:"" help:"Alias of the tenant."`
	SecureMode     []string `help:"Who may make a call besides a holder of the API key: signed (the user, by a token), open (anybody) or disabled (nobody). May be repeated; endpoints are as in tenant show." placeholder:"ENDPOINT=MODE"`
	BrowserPayment *string  `help:"When a browser's word counts that an account is PAID or CANCELLED: only when its token signs it (signed, the default), or always (any), which lets every visitor convert." placeholder:"any|signed"`
	InitChecksum   *string  `help:"Whether the checksum of an init call counts as its user's token: on or off. Prefer tokens; a checksum is easier to get wrong." placeholder:"on|off"`
	UndatedTokens  *string  `help:"Whether a user token without exp counts, for 24 hours after its iat: on or off." placeholder:"on|off"`
	APIKeyTokens   *string  `name:"api-key-tokens" help:"Whether a user token counts that an API key with the role all signed, as existing clients do: on (the default) or off. Off: only keys with the role tokens sign them." placeholder:"on|off"`
	ShareOrigin    *string  `help:"Where share links begin, such as https://go.shop.example; empty: at the public URL of the backend, or else at the origin of the landing page." placeholder:"ORIGIN"`
	ExportDates    *string  `help:"How the dates of exports are written: MS (epoch milliseconds) or ISO." placeholder:"MS|ISO"`
	Consent        *string  `help:"When the attribution cookie may be set: off, opt-in or opt-out." placeholder:"off|opt-in|opt-out"`
	ConsentCookie  *string  `help:"Cookie with the visitor's answer, for opt-in and opt-out." placeholder:"NAME"`
	DiscountID     *string  `help:"The tenant's discount at the payment gateway." placeholder:"ID"`
}

// Run changes the settings and prints them.
func (c *tenantSetCommand) Run(e *env) error {
	change := tenants.TenantChange{
		DiscountID: c.DiscountID, ConsentCookie: c.ConsentCookie, ShareOrigin: c.ShareOrigin,
		SecureMode: strings.Join(c.SecureMode, ","),
	}
	if c.Consent != nil {
		consent, ok := link.ParseConsent(*c.Consent)
		if !ok {
			return core.Invalid("consent", "must be one of off, opt-in, opt-out")
		}
		change.Consent = &consent
	}
	if c.BrowserPayment != nil {
		payment, ok := auth.ParseBrowserPayment(*c.BrowserPayment)
		if !ok {
			return core.Invalid("browser-payment", "must be one of any, signed")
		}
		change.BrowserPayment = &payment
	}
	var err error
	if change.InitChecksum, err = onOff("init-checksum", c.InitChecksum); err != nil {
		return err
	}
	if change.UndatedTokens, err = onOff("undated-tokens", c.UndatedTokens); err != nil {
		return err
	}
	if change.APIKeyTokens, err = onOff("api-key-tokens", c.APIKeyTokens); err != nil {
		return err
	}
	if c.ExportDates != nil {
		dates, err := job.ParseDates("export-dates", *c.ExportDates)
		if err != nil {
			return err
		}
		change.ExportDates = &dates
	}
	engine, err := c.open(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	tenant, err := engine.Tenants.Change(e.ctx, core.TenantAlias(c.Alias), change)
	if err != nil {
		return err
	}
	return printTenant(e, tenant)
}

// onOff reads a switch; nil stays nil.
func onOff(field string, s *string) (*bool, error) {
	if s == nil {
		return nil, nil
	}
	on := *s == "on"
	if !on && *s != "off" {
		return nil, core.Invalid(field, "must be on or off")
	}
	return &on, nil
}

func onOrOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// browserPayment is the setting with what follows from it.
func browserPayment(b auth.BrowserPayment) string {
	if b == auth.PaymentAny {
		return "any (every visitor can convert a referral)"
	}
	return "signed (an unsigned PAID is noted and converts nothing)"
}

// printTenant writes one setting a line, by the names of the flags that set
// them.
func printTenant(e *env, t tenantdb.Tenant) error {
	lines := [][2]string{
		{"discount-id", t.DiscountID}, {"consent", string(t.Policy.Consent)}, {"consent-cookie", t.Policy.ConsentCookie},
		{"browser-payment", browserPayment(t.BrowserPayment)}, {"init-checksum", onOrOff(t.InitChecksum)},
		{"undated-tokens", onOrOff(t.UndatedTokens)}, {"api-key-tokens", onOrOff(t.APIKeyTokens)}, {"share-origin", t.ShareOrigin},
		{"export-dates", string(t.ExportDates)},
	}
	for _, endpoint := range auth.Endpoints() {
		lines = append(lines, [2]string{"secure-mode", endpoint.String() + "=" + t.SecureMode[endpoint].String()})
	}
	for _, line := range lines {
		if _, err := fmt.Fprintf(e.out, "%-16s %s\n", line[0], line[1]); err != nil {
			return err
		}
	}
	return nil
}

type tenantExportCommand struct {
	archiveFlags
	Alias   string `arg:"" help:"Alias of the tenant; its test tenant is another."`
	File    string `arg:"" help:"Where to write; it gets its name when it is whole. - is the standard output."`
	NoFiles bool   `help:"Leave out the files of jobs (uploads, exports)."`
}

// Help says what the file is.
func (tenantExportCommand) Help() string {
	return `All that the service holds of one tenant, for the tenant: tar packed with gzip, with a file of JSON lines for each table, named by its columns, and the files of jobs. ` +
		`It has no keys and no secrets, and cannot be restored; kith backup --tenant writes what can.`
}

// Run exports.
func (c *tenantExportCommand) Run(e *env) error {
	return c.write(e, backup.Source{Kind: backup.Export, Tenant: core.TenantAlias(c.Alias), NoFiles: c.NoFiles}, c.File)
}

type tenantEraseCommand struct {
	archiveFlags
	Alias string `arg:"" help:"Alias of the tenant; its test tenant is another."`
	Yes   bool   `help:"Do not ask."`
}

// Help says what goes and what does not.
func (tenantEraseCommand) Help() string {
	return `Removes every row and every file of one tenant, for good. The tenant is unknown from the first moment on; the rest goes in small batches, while others are served. ` +
		`Killed in the middle, it goes on when it is run again. Backups that hold the tenant are not touched.`
}

// Run asks, and erases.
func (c *tenantEraseCommand) Run(e *env) error {
	db, files, err := c.openStore(e, upToDate)
	if err != nil {
		return err
	}
	defer db.Close()
	defer files.Close()
	if !c.Yes {
		if err := confirm(e.out, os.Stdin, terminal(os.Stdin), c.Alias); err != nil {
			return err
		}
	}
	show := newProgress(e.out)
	defer show.end()
	show.begin("erase", "rows", 0)
	removed, rows := map[string]int{}, int64(0)
	err = backup.Erase(e.ctx, db, files, now, core.TenantAlias(c.Alias), func(table string, n int) {
		removed[table] += n
		rows += int64(n)
		show.at(rows)
	})
	show.end()
	if err != nil {
		return err
	}
	tables := make([]string, 0, len(removed))
	for table := range removed {
		tables = append(tables, table)
	}
	slices.Sort(tables)
	for _, table := range tables {
		fmt.Fprintf(e.out, "%8d of %s\n", removed[table], table)
	}
	_, err = fmt.Fprintf(e.out, "%s is erased: %d rows, %d of them files\n", c.Alias, rows, removed["file"])
	return err
}

// confirm has somebody at a terminal type the alias of what is to be erased.
func confirm(out io.Writer, in io.Reader, terminal bool, alias string) error {
	if !terminal {
		return core.Invalid("yes", "is needed where nobody can be asked: an erased tenant does not come back")
	}
	fmt.Fprintf(out, "All that tenant %s has goes for good. Type the alias to go on: ", alias)
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && err != io.EOF {
		return err
	}
	if strings.TrimSpace(line) != alias {
		return core.Invalid("alias", "was not typed; nothing was erased")
	}
	return nil
}

// terminal reports whether somebody sits at a file.
func terminal(file *os.File) bool {
	info, err := file.Stat()
	if err != nil {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return info.Mode()&os.ModeCharDevice != 0 && (err != nil || !os.SameFile(info, null))
}
