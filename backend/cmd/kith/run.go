package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"kith/backend/api"
	"kith/backend/manual"
	"kith/backend/metrics"
	"kith/backend/trace"
	"kith/core"
	"kith/core/auth"
)

// cli is the command line. The help names the environment variable of each flag that
// has one.
type cli struct {
	LogLevel    slog.Level    `env:"KITH_LOG_LEVEL" default:"INFO" help:"Least level that is logged: DEBUG (also logs each request), INFO, WARN or ERROR."`
	StopTimeout time.Duration `env:"KITH_STOP_TIMEOUT" default:"15s" help:"Longest time that a process waits, when it stops, for requests and uploads in progress."`

	Dev       devCommand       `cmd:"" help:"Run edge and backend in one process, with two demo tenants."`
	Serve     serveCommand     `cmd:"" help:"Run the backend."`
	Edge      edgeCommand      `cmd:"" help:"Run the edge: the WebAssembly component under wazero."`
	Spin      spinCommand      `cmd:"" help:"Write what Spin needs to run the edge, and print the command that starts Spin."`
	SFTP      sftpCommand      `cmd:"" name:"sftp" help:"Run an SFTP server that receives files to import. The backends on the same database import them."`
	Tenant    tenantCommand    `cmd:"" help:"Manage tenants."`
	Program   programCommand   `cmd:"" help:"Manage the programs of a tenant."`
	Analytics analyticsCommand `cmd:"" help:"Print visits, referrals and top referrers of a tenant."`
	Key       keyCommand       `cmd:"" help:"Manage the API keys of a tenant."`
	Person    personCommand    `cmd:"" help:"Manage the people who work in the portal."`
	MasterKey masterKeyCommand `cmd:"" help:"Replace the master key while the service runs."`
	DBKey     dbKeyCommand     `cmd:"" name:"database-key" help:"Make a key for libSQL servers and a token for Kith, and print both."`
	Token     tokenCommand     `cmd:"" help:"Print a user token (JWT), signed as a shop's server signs it."`

	API    apiCommand    `cmd:"" name:"api" help:"Make any call of the API, on the database as the operator, or at a service."`
	Import importCommand `cmd:"" help:"Import a file: upload it, follow the job and fetch the rows that failed. Exit status: 0 all rows imported, 1 some rows failed, 2 the import did not run to its end."`
	Sample sampleCommand `cmd:"" help:"Write a file of sample rows to import."`

	Doctor  doctorCommand  `cmd:"" help:"Examine the database, the disk, the master key, the backend and what visitors reach, and print what to do. Exit status: 0 no problem, 1 problems."`
	Health  healthCommand  `cmd:"" help:"Ask a running process whether it is ready. Exit status: 0 ready, 1 not ready or no answer."`
	Backup  backupCommand  `cmd:"" help:"Back up the database and the files of jobs, while the service runs."`
	Restore restoreCommand `cmd:"" help:"Restore a backup into an empty database, or one tenant into a database that has others."`

	Webhook webhookCommand `cmd:"" help:"Manage which addresses webhooks may reach, and the key that signs them."`

	Gateway    gatewayCommand    `cmd:"" help:"Connect a tenant to its payment gateway."`
	Gatewaylab gatewaylabCommand `cmd:"" help:"Run a local payment gateway for trying things out. It answers as Braintree does."`
	Stripelab  stripelabCommand  `cmd:"" help:"Run a local payment gateway for trying things out. It answers as Stripe does."`

	Man         manCommand        `cmd:"" help:"Print the man page."`
	Completion  completionCommand `cmd:"" help:"Print the completions for a shell."`
	Version     versionCommand    `cmd:"" help:"Print the version."`
	VersionFlag kong.VersionFlag  `name:"version" help:"Print the version."`
}

// env is what commands share.
type env struct {
	// ctx ends at SIGINT or SIGTERM.
	ctx context.Context
	out io.Writer
	log *slog.Logger
	// configLevel is the level at which servers log their configuration: INFO by default.
	configLevel slog.Level
	// observer counts the requests of all servers of this process.
	observer *metrics.Observer
	// stopTimeout is how long the process waits, when it stops, for requests in
	// progress.
	stopTimeout time.Duration
}

// stopTimeout is the default of env.stopTimeout.
const stopTimeout = 15 * time.Second

func newEnv(ctx context.Context, out io.Writer, log *slog.Logger) *env {
	return &env{ctx: ctx, out: out, log: log, observer: metrics.New(newRequestID, log), stopTimeout: stopTimeout}
}

// within returns the environment with another context.
func (e *env) within(ctx context.Context) *env {
	own := *e
	own.ctx = ctx
	return &own
}

// observeRoutes returns the function that observes one route of the backend. Edges and
// trusted proxies say which requests are traced.
func (e *env) observeRoutes(tracer *trace.Tracer, trusted auth.Networks) func(string, http.Handler) http.Handler {
	inside := func(r *http.Request) bool { return api.FromEdge(r) || trusted.Trusted(r.RemoteAddr) }
	return func(route string, next http.Handler) http.Handler {
		is := func(*http.Request) string { return route }
		return e.observer.Requests("backend", is, tracer.Requests(is, inside, next))
	}
}

func newRequestID() string {
	var b [6]byte
	random(b[:])
	return core.NewID(now(), b)
}

// interrupted is the exit status of a command that was interrupted by a signal, as in
// shells.
const interrupted = 130

// newParser returns the parser of the command line.
func newParser(c *cli, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(c, append(slices.Concat(options, valueOptions()),
		kong.Name("kith"),
		kong.Vars{"version": "kith " + version, "samplers": trace.Samplers},
		kong.Description("Referral programs at the edge: share links, attribution, conversion, rewards."),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
	)...)
}

// valueOptions make errors about durations, levels, days and numbers say what to give. Kong adds the
// flag or the variable.
func valueOptions() []kong.Option {
	options := []kong.Option{
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(decodeDuration)),
		kong.TypeMapper(reflect.TypeFor[slog.Level](), kong.MapperFunc(decodeLevel)),
		kong.TypeMapper(reflect.TypeFor[time.Time](), kong.MapperFunc(decodeDay)),
		kong.NamedMapper("folder", kong.MapperFunc(decodeFolder)),
	}
	for _, kind := range []reflect.Kind{reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint64, reflect.Float64} {
		options = append(options, kong.KindMapper(kind, kong.MapperFunc(decodeNumber)))
	}
	return options
}

func decodeDuration(c *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := c.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a duration of 0 or more; give numbers with units, such as 500ms, 15s, 10m or 24h", text)
	}
	target.SetInt(int64(d))
	return nil
}

func decodeLevel(c *kong.DecodeContext, target reflect.Value) error {
	var text string
	var level slog.Level
	if err := c.Scan.PopValueInto("level", &text); err != nil {
		return err
	}
	if level.UnmarshalText([]byte(text)) != nil {
		return fmt.Errorf("%q is not a level; give DEBUG, INFO, WARN or ERROR", text)
	}
	target.SetInt(int64(level))
	return nil
}

func decodeDay(c *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := c.Scan.PopValueInto("day", &text); err != nil {
		return err
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return fmt.Errorf("%q is not a day; give one such as 2026-05-31", text)
	}
	target.Set(reflect.ValueOf(day))
	return nil
}

// decodeFolder takes an empty value, as of a variable without one in a file of settings, for the
// default: an empty path would mean the current folder.
func decodeFolder(c *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := c.Scan.PopValueInto("folder", &text); err != nil {
		return err
	}
	target.SetString(cmp.Or(text, c.Value.Default))
	return nil
}

func decodeNumber(c *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := c.Scan.PopValueInto("number", &text); err != nil {
		return err
	}
	bits := target.Type().Bits()
	switch {
	case target.CanInt():
		n, err := strconv.ParseInt(text, 0, bits)
		if err != nil {
			return fmt.Errorf("%q is not a whole number; give digits without a unit, such as 100", text)
		}
		target.SetInt(n)
	case target.CanUint():
		n, err := strconv.ParseUint(text, 0, bits-1) // it is used as an int
		if err != nil {
			return fmt.Errorf("%q is not a whole number of 0 or more; give digits without a unit, such as 100", text)
		}
		target.SetUint(n)
	default:
		n, err := strconv.ParseFloat(text, bits)
		if err != nil {
			return fmt.Errorf("%q is not a number; give one such as 0.25", text)
		}
		target.SetFloat(n)
	}
	return nil
}

// run runs the command line and returns the exit status: 0, 1 for a failure, 2 for an
// invalid command line, or interrupted.
func run(args []string, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	exit := -1
	parser, err := newParser(&c, kong.Writers(out, errOut), kong.Exit(func(status int) { exit = status }))
	if err != nil {
		fmt.Fprintln(errOut, "kith:", err)
		return 1
	}
	if len(args) == 0 {
		args = []string{"--help"}
	} else if args[0] == "help" { // people try kith help and kith help serve
		args = append(slices.Clone(args[1:]), "--help")
	}
	command, err := parser.Parse(args)
	if exit >= 0 {
		return exit
	}
	if err != nil {
		fmt.Fprintf(errOut, "kith: %v\n", err)
		var wrong *kong.ParseError
		of := "kith"
		if errors.As(err, &wrong) && wrong.Context.Selected() != nil {
			of = wrong.Context.Selected().FullPath()
			if strings.HasPrefix(err.Error(), "unknown flag") {
				fmt.Fprintln(errOut, "Usage: kith", wrong.Context.Selected().Summary())
			}
		}
		fmt.Fprintf(errOut, "See %s --help.\n", of)
		return 2
	}
	log := slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: c.LogLevel}))
	if errOut == io.Writer(os.Stderr) {
		slog.SetDefault(log) // also of net/http; tests run several commands at once
	}
	e := newEnv(ctx, out, log)
	e.stopTimeout = c.StopTimeout
	return report(ctx, command.Run(e), errOut)
}

// report prints the error of a command, if any, and returns the exit status.
func report(ctx context.Context, err error, errOut io.Writer) int {
	var exit exitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		fmt.Fprintln(errOut, "kith:", message(err))
		return exit.status
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(errOut, "kith: interrupted")
		return interrupted
	}
	fmt.Fprintln(errOut, "kith:", message(err))
	return 1
}

// message returns an error as an operator should read it: with the field and the cause,
// which only HTTP responses withhold.
func message(err error) string {
	var e *core.Error
	text := err.Error()
	if errors.As(err, &e) && e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e != nil && *e == *core.UnknownTenant() {
		text = "tenant: " + text + "; kith tenant list prints those that exist"
	}
	if strings.Contains(text, "database or disk is full") && !strings.Contains(text, freeSpace) {
		text += "; " + freeSpace
	}
	return text
}

type versionCommand struct{}

func (versionCommand) Run(e *env) error {
	_, err := fmt.Fprintln(e.out, "kith", version)
	return err
}

type manCommand struct{}

func (manCommand) Run(e *env, app *kong.Kong) error {
	_, err := io.WriteString(e.out, manual.Man(app.Model, version))
	return err
}

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish. Packages install the files; otherwise, in bash: source <(kith completion bash)"`
}

func (c completionCommand) Run(e *env, app *kong.Kong) error {
	words, err := apiWords()
	if err != nil {
		return err
	}
	_, err = io.WriteString(e.out, manual.Completion(app.Model, c.Shell, words))
	return err
}
