package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/tenants"
	"kith/backend/backup"
	"kith/backend/progress"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/job"
	"kith/core/link"
	"kith/core/people"
	"kith/core/referral"
)

type tenantCommand struct {
	Create tenantCreateCommand `cmd:"" help:"Create a tenant and its test tenant. Prints their API keys, and the keys that sign their user tokens, once."`
	List   tenantListCommand   `cmd:"" help:"List the tenants."`
	Show   tenantShowCommand   `cmd:"" help:"Print the settings of a tenant."`
	Set    tenantSetCommand    `cmd:"" help:"Change settings of a tenant, and print all of them. Running backends use them at once, edges when their replica has them."`
	Export tenantExportCommand `cmd:"" help:"Write all data of a tenant to a file, for the tenant."`
	Erase  tenantEraseCommand  `cmd:"" help:"Delete a tenant and all its data, permanently."`
	Origin originCommand       `cmd:"" help:"Manage the origins whose pages may call the service from a browser."`
	SFTP   sftpKeyCommand      `cmd:"" name:"sftp-key" help:"Manage the public keys that may send files over SFTP."`
}

type tenantCreateCommand struct {
	databaseFlags
	Alias         string        `arg:"" help:"Alias of the live tenant; the test tenant is test_ALIAS."`
	LandingURL    string        `required:"" help:"Page that share links lead to." placeholder:"URL"`
	AllowedHosts  []string      `name:"allow-host" help:"Host that the parameter rsLandingPage may name, besides that of the landing page. May be repeated." placeholder:"HOST"`
	Origins       []string      `name:"origin" help:"Origin whose pages may call the service from a browser, besides that of the landing page. May be repeated." placeholder:"ORIGIN"`
	Consent       string        `default:"off" enum:"off,opt-in,opt-out" help:"When the attribution cookie may be set: ${enum}."`
	ConsentCookie string        `help:"Name of the cookie that has the visitor's answer; required for opt-in and opt-out." placeholder:"NAME"`
	CookieLife    time.Duration `default:"720h" help:"Lifetime of the attribution cookie, 1s to 9600h."`
	DiscountID    string        `default:"svc_discount" help:"Id of the tenant's discount at the payment gateway."`
}

const maxCookieLife = 400 * 24 * time.Hour

// Run creates both tenants.
func (c *tenantCreateCommand) Run(e *env) error {
	if live, ok := strings.CutPrefix(c.Alias, base.TestPrefix); ok {
		return core.Invalid("alias", "must not begin with "+base.TestPrefix+": kith tenant create "+live+" makes this test tenant, too")
	}
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
	if err := (tenants.NewTenant{Alias: core.TenantAlias(base.TestPrefix + c.Alias), Program: c.program()}).Check(); err != nil {
		return err
	}
	if known := (*core.Error)(nil); errors.As(c.program().Check(), &known) {
		return core.Invalid("allow-host", known.Message)
	}
	engine, err := c.openOrCreate(e)
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

type tenantListCommand struct {
	databaseFlags
}

// Run lists the tenants.
func (c *tenantListCommand) Run(e *env) error {
	return c.with(e, func(engine *app.Engine) error {
		all, err := tenantdb.ListTenants(e.ctx, engine.DB.Reads)
		if err == nil && len(all) == 0 {
			_, err = fmt.Fprintln(e.out, "No tenants yet. Create one with kith tenant create.")
		}
		width := 0
		for _, t := range all {
			width = max(width, len(t.Alias))
		}
		for _, t := range all {
			fmt.Fprintf(e.out, "%-*s  created %s\n", width, t.Alias, time.UnixMilli(int64(t.Created)).UTC().Format(time.DateOnly))
		}
		return err
	})
}

type tenantShowCommand struct {
	databaseFlags
	Alias string `arg:"" help:"Alias of the tenant."`
}

// Run prints the settings.
func (c *tenantShowCommand) Run(e *env) error {
	return c.with(e, func(engine *app.Engine) error {
		tenant, err := engine.Tenants.ByAlias(e.ctx, core.TenantAlias(c.Alias))
		if err != nil {
			return err
		}
		return printTenant(e, tenant)
	})
}

type tenantSetCommand struct {
	databaseFlags
	Alias            string         `arg:"" help:"Alias of the tenant."`
	SecureMode       []string       `help:"Credentials that a call needs: signed (a user token or an API key), open (none) or disabled (an API key). May be repeated; kith tenant show lists the endpoints." placeholder:"ENDPOINT=MODE"`
	BrowserPayment   *string        `help:"Whether a browser may report an account as PAID or CANCELLED: only in a signed token (signed, the default), or always (any). With any, every visitor can convert a referral." placeholder:"any|signed"`
	InitChecksum     *string        `help:"Whether the checksum of an init call is accepted in place of a user token: on or off. Prefer tokens." placeholder:"on|off"`
	UndatedTokens    *string        `help:"Whether a user token without exp is accepted: on, for 24 hours after its iat, and without iat for ever; or off, the default. Refused calls are counted: kith doctor shows them." placeholder:"on|off"`
	SquatchParameter *string        `help:"Whether landing pages get the parameter _saasquatch, which browser scripts of the older API read: on, off, or auto (the default), which becomes on when such a script calls." placeholder:"auto|on|off"`
	APIKeyTokens     *string        `name:"api-key-tokens" help:"Whether user tokens may be signed with an API key that has the role all: on (the default) or off. With off, only keys with the role tokens may sign them." placeholder:"on|off"`
	ShareOrigin      *string        `help:"Origin of share links, such as https://go.shop.example. An empty text removes it; then links begin with the backend's public URL, or else with the origin of the landing page." placeholder:"ORIGIN"`
	ExportDates      *string        `help:"Form of dates in exports: MS (milliseconds since 1970) or ISO (ISO 8601)." placeholder:"MS|ISO"`
	TimeZone         *string        `help:"Time zone in which people read times in the portal and in files for spreadsheets, such as Europe/Berlin. Empty, the default, is that of each person's browser, and UTC in files." placeholder:"NAME"`
	RememberDeleted  *time.Duration `help:"How long a deleted account is recognised when it is made again: if it had converted or paid, no code refers it. Only a keyed hash of its id is kept. Default: 8760h, a year; 0s is not at all." placeholder:"DURATION"`
	LinkMaxAge       *time.Duration `help:"How long edges keep where a link leads, and look-ups of codes: 0s to 5m. An edge with a database keeps them for 2s at most. An edit or a block is seen after this time at the latest; what is kept already stays until its own. Default: 1m." placeholder:"DURATION"`
	CodeNames        *string        `help:"Whether look-ups of codes name the referrer: on (the default) or off. An edge keeps no answer that names a person, so look-ups are quicker with off." placeholder:"on|off"`
	SecondStep       *string        `help:"Whether members who have a password must sign in with two steps: on or off (the default). Owners set it in the portal, too." placeholder:"on|off"`
	Consent          *string        `help:"When the attribution cookie may be set: off (always), opt-in or opt-out." placeholder:"off|opt-in|opt-out"`
	ConsentCookie    *string        `help:"Name of the cookie that has the visitor's answer; required for opt-in and opt-out." placeholder:"NAME"`
	DiscountID       *string        `help:"Id of the tenant's discount at the payment gateway." placeholder:"ID"`
}

// Run changes the settings and prints them.
func (c *tenantSetCommand) Run(e *env) error {
	change := tenants.TenantChange{
		DiscountID: c.DiscountID, ConsentCookie: c.ConsentCookie, ShareOrigin: c.ShareOrigin, TimeZone: c.TimeZone,
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
	for _, s := range []struct {
		flag  string
		given *string
		to    **bool
	}{
		{"init-checksum", c.InitChecksum, &change.InitChecksum}, {"undated-tokens", c.UndatedTokens, &change.UndatedTokens},
		{"api-key-tokens", c.APIKeyTokens, &change.APIKeyTokens}, {"second-step", c.SecondStep, &change.SecondStep}, {"code-names", c.CodeNames, &change.CodeNames},
	} {
		if s.given == nil {
			continue
		}
		if *s.given != "on" && *s.given != "off" {
			return core.Invalid(s.flag, "must be on or off")
		}
		*s.to = new(*s.given == "on")
	}
	if c.LinkMaxAge != nil {
		change.LinkMaxAge = new(core.Time(c.LinkMaxAge.Milliseconds()))
	}
	if c.RememberDeleted != nil {
		change.RememberDeleted = new(core.Time(c.RememberDeleted.Milliseconds()))
	}
	if c.SquatchParameter != nil {
		squatch, err := link.ParseSquatchParameter("squatch-parameter", *c.SquatchParameter)
		if err != nil {
			return err
		}
		change.SquatchParameter = &squatch
	}
	if c.ExportDates != nil {
		dates, err := job.ParseDates("export-dates", *c.ExportDates)
		if err != nil {
			return err
		}
		change.ExportDates = &dates
	}
	return c.with(e, func(engine *app.Engine) error {
		tenant, err := engine.Admin.Website.ChangeTenant(e.ctx, people.OperatorOf(core.TenantAlias(c.Alias)), change)
		if err != nil {
			return err
		}
		return printTenant(e, tenant)
	})
}

func onOrOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// browserPayment returns the setting with its consequence.
func browserPayment(b auth.BrowserPayment) string {
	if b == auth.PaymentAny {
		return "any (every visitor can convert a referral)"
	}
	return "signed (an unsigned PAID is noted and converts nothing)"
}

// printTenant prints one setting per line, by the name of its flag.
func printTenant(e *env, t tenantdb.Tenant) error {
	lines := [][2]string{
		{"discount-id", t.DiscountID}, {"consent", string(t.Policy.Consent)}, {"consent-cookie", t.Policy.ConsentCookie},
		{"browser-payment", browserPayment(t.BrowserPayment)}, {"init-checksum", onOrOff(t.InitChecksum)},
		{"undated-tokens", onOrOff(t.UndatedTokens)}, {"squatch-parameter", string(t.SquatchParameter)}, {"api-key-tokens", onOrOff(t.APIKeyTokens)}, {"share-origin", t.ShareOrigin},
		{"export-dates", string(t.ExportDates)}, {"time-zone", t.TimeZone}, {"remember-deleted", durationText(t.RememberDeleted)},
		{"link-max-age", durationText(t.LinkMaxAge)}, {"code-names", onOrOff(t.CodeNames)}, {"second-step", onOrOff(t.SecondStep)},
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
	recipientFlags
	Alias   string `arg:"" help:"Alias of the tenant. The test tenant is a tenant of its own."`
	File    string `arg:"" help:"File to write; it appears under this name when it is complete. - is the standard output."`
	NoFiles bool   `help:"Leave out the files of jobs (uploads, exports)."`
}

// Help says what the file contains.
func (tenantExportCommand) Help() string {
	return `The file is a gzipped tar archive. It has one file of JSON lines for each table and the files of jobs. ` +
		`It has no secrets, and cannot be restored. To write a file that can be restored, use kith backup --tenant. ` +
		`Where KITH_BACKUP_RECIPIENT is set, the file is encrypted to that key: give the tenant's own by --backup-recipient.`
}

// Run writes the export.
func (c *tenantExportCommand) Run(e *env) error {
	recipients, err := c.recipients()
	if err != nil {
		return err
	}
	return c.write(e, backup.Source{Kind: backup.Export, Tenant: core.TenantAlias(c.Alias), NoFiles: c.NoFiles, Recipients: recipients}, c.File)
}

type tenantEraseCommand struct {
	archiveFlags
	Alias string `arg:"" help:"Alias of the tenant. The test tenant is a tenant of its own."`
	Yes   bool   `help:"Do not ask for confirmation."`
}

// Help says what is deleted and what is not.
func (tenantEraseCommand) Help() string {
	return `Deletes every row and every file of one tenant. From the start, calls for the tenant get 404. Its data are deleted in small batches, so that other tenants are served meanwhile. ` +
		`If the command is interrupted, run it again to finish. Backups that contain the tenant stay as they are.`
}

// Run asks for confirmation and erases the tenant.
func (c *tenantEraseCommand) Run(e *env) error {
	db, files, err := c.openStore(e, migrated)
	if err != nil {
		return err
	}
	defer db.Close()
	defer files.Close()
	if !c.Yes {
		if err := confirm(e.out, os.Stdin, progress.Terminal(os.Stdin), c.Alias); err != nil {
			return err
		}
	}
	show := progress.New(e.out)
	defer show.End()
	show.Begin("erase", "rows", 0)
	removed, rows := map[string]int{}, int64(0)
	err = backup.Erase(e.ctx, db, files, now, core.TenantAlias(c.Alias), func(table string, n int) {
		removed[table] += n
		rows += int64(n)
		show.At(rows)
	})
	show.End()
	if err != nil {
		return err
	}
	for _, table := range slices.Sorted(maps.Keys(removed)) {
		fmt.Fprintf(e.out, "%8d of %s\n", removed[table], table)
	}
	_, err = fmt.Fprintf(e.out, "%s is erased: %d rows, %d of them files\n", c.Alias, rows, removed["file"])
	return err
}

// confirm asks the operator to type the alias of the tenant to erase.
func confirm(out io.Writer, in io.Reader, terminal bool, alias string) error {
	if !terminal {
		return core.Invalid("yes", "is required without a terminal, where kith cannot ask for confirmation: an erased tenant cannot be recovered")
	}
	fmt.Fprintf(out, "All data of tenant %s will be deleted permanently. Type the alias to continue: ", alias)
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && err != io.EOF {
		return err
	}
	if strings.TrimSpace(line) != alias {
		return core.Invalid("alias", "does not match; nothing was erased")
	}
	return nil
}

// durationText returns a duration as text: in days if it is a whole number of days.
func durationText(d core.Time) string {
	switch {
	case d == core.Day:
		return "1 day"
	case d > core.Day && d%core.Day == 0:
		return strconv.FormatInt(int64(d/core.Day), 10) + " days"
	}
	return (time.Duration(d) * time.Millisecond).String()
}

func clock(t core.Time) string { return time.UnixMilli(int64(t)).UTC().Format(time.RFC3339) }
