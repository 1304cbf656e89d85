package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"kith/core"
)

// cli is the command line. Every flag that has an environment variable names it
// in the help.
type cli struct {
	Dev    devCommand    `cmd:"" help:"Run edge and backend together, with two demo tenants."`
	Serve  serveCommand  `cmd:"" help:"Run the backend."`
	Edge   edgeCommand   `cmd:"" help:"Run the edge component under wazero, as a production server."`
	Tenant tenantCommand `cmd:"" help:"Manage tenants."`
	Token  tokenCommand  `cmd:"" help:"Print a user token (JWT), as a shop's server would sign it."`

	Version versionCommand `cmd:"" help:"Print the version."`
}

// env is what commands share.
type env struct {
	// ctx ends at SIGINT or SIGTERM.
	ctx context.Context
	out io.Writer
	log *slog.Logger
}

// run runs the command line and returns the exit status: 0, 1 for a failure, 2
// for a command line that makes no sense.
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
	log := slog.New(slog.NewTextHandler(errOut, nil))
	if err := command.Run(&env{ctx: ctx, out: out, log: log}); err != nil {
		fmt.Fprintln(errOut, "kith:", message(err))
		return 1
	}
	return 0
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
