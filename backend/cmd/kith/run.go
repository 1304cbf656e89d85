package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"kith/backend/metrics"
	"kith/core"
)

// cli is the command line. Every flag that has an environment variable names it
// in the help.
type cli struct {
	LogLevel    slog.Level    `env:"KITH_LOG_LEVEL" default:"INFO" help:"What is logged: DEBUG (every request too), INFO, WARN or ERROR."`
	StopTimeout time.Duration `env:"KITH_STOP_TIMEOUT" default:"15s" help:"How long a stopping process waits for the requests and files that are on their way."`

	Dev       devCommand       `cmd:"" help:"Run edge and backend together, with two demo tenants."`
	Serve     serveCommand     `cmd:"" help:"Run the backend."`
	Edge      edgeCommand      `cmd:"" help:"Run the edge component under wazero, as a production server."`
	Spin      spinCommand      `cmd:"" help:"Prepare the edge for Spin in the data folder, and print the command that starts Spin on it."`
	SFTP      sftpCommand      `cmd:"" name:"sftp" help:"Take files to import over SFTP, beside backends on the same database."`
	Tenant    tenantCommand    `cmd:"" help:"Manage tenants."`
	User      userCommand      `cmd:"" help:"Inspect users."`
	Program   programCommand   `cmd:"" help:"Manage the programs of a tenant."`
	Widget    widgetCommand    `cmd:"" help:"Manage the widgets of a tenant."`
	Key       keyCommand       `cmd:"" help:"Manage the API keys of a tenant."`
	MasterKey masterKeyCommand `cmd:"" help:"Replace the master key while the service runs."`
	Token     tokenCommand     `cmd:"" help:"Print a user token (JWT), as a shop's server would sign it."`

	Import importCommand `cmd:"" help:"Import a file: upload it, follow the job, fetch which rows failed. Exit status 1: rows failed; 2: nothing was imported, or not all."`
	Sample sampleCommand `cmd:"" help:"Write a file of made-up rows to import."`

	Backup  backupCommand  `cmd:"" help:"Back up the database and the files of jobs, while the service runs."`
	Restore restoreCommand `cmd:"" help:"Restore a backup into an empty database, or one tenant beside others."`

	Webhook webhookCommand `cmd:"" help:"Manage the endpoints that tenants have events sent to."`

	Gateway    gatewayCommand    `cmd:"" help:"Connect tenants to their payment gateway."`
	Gatewaylab gatewaylabCommand `cmd:"" help:"Run a payment gateway to play with, which answers as Braintree does."`

	Version versionCommand `cmd:"" help:"Print the version."`
}

// env is what commands share.
type env struct {
	// ctx ends at SIGINT or SIGTERM.
	ctx context.Context
	out io.Writer
	log *slog.Logger
	// observer counts requests of all that this process serves.
	observer *metrics.Observer
	// stopTimeout is how long a stop waits for what is on its way.
	stopTimeout time.Duration
}

// stopTimeout is that of an environment unless it is set.
const stopTimeout = 15 * time.Second

func newEnv(ctx context.Context, out io.Writer, log *slog.Logger) *env {
	return &env{ctx: ctx, out: out, log: log, observer: metrics.New(newRequestID, log), stopTimeout: stopTimeout}
}

// within is the environment until another context ends.
func (e *env) within(ctx context.Context) *env {
	own := *e
	own.ctx = ctx
	return &own
}

// observeRoute observes one route of the backend.
func (e *env) observeRoute(route string, next http.Handler) http.Handler {
	return e.observer.Requests("backend", func(*http.Request) string { return route }, next)
}

func newRequestID() string {
	var b [6]byte
	random(b[:])
	return core.NewID(now(), b)
}

// interrupted is the exit status of a command that a signal ended before its work
// was done, as shells have it for Ctrl-C.
const interrupted = 130

// run runs the command line and returns the exit status: 0, 1 for a failure, 2
// for a command line that makes no sense, or interrupted.
func run(args []string, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	exit := -1
	parser, err := kong.New(&c,
		kong.Name("kith"),
		kong.Description("Referral programs at the edge: share links, attribution, conversion, rewards."),
		kong.UsageOnError(), kong.Writers(out, errOut),
		kong.Exit(func(status int) { exit = status }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
	)
	if err != nil {
		fmt.Fprintln(errOut, "kith:", err)
		return 1
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	if exit >= 0 {
		return exit
	}
	if err != nil {
		fmt.Fprintf(errOut, "kith: %v\nSee kith --help.\n", err)
		return 2
	}
	log := slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: c.LogLevel}))
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

// message is an error as an operator should read it: with the field and with
// the cause, which is withheld from callers over HTTP only.
func message(err error) string {
	var e *core.Error
	if errors.As(err, &e) && e.Err != nil {
		return err.Error() + ": " + e.Err.Error()
	}
	return err.Error()
}

type versionCommand struct{}

func (versionCommand) Run(e *env) error {
	_, err := fmt.Fprintln(e.out, "kith", version)
	return err
}
