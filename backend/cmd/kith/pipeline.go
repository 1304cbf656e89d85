package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"kith/backend/app"
	"kith/backend/app/members"
	"kith/core"
	"kith/core/pipeline"
	"kith/core/wire"
)

type pipelineCommand struct {
	Show   pipelineShowCommand   `cmd:"" help:"Print how the messages of a tenant's pipeline are read, as JSON."`
	Set    pipelineSetCommand    `cmd:"" help:"Change how the messages of a tenant's pipeline are read."`
	Secret pipelineSecretCommand `cmd:"" help:"Make a new secret by which Segment signs its calls, and print it once. The old secret stays valid for the time of --overlap."`
	Revoke pipelineRevokeCommand `cmd:"" help:"Refuse all signatures from now on. Calls with an API key are still accepted."`
}

type pipelineShowCommand struct{ webhookFlags }

// Run prints the settings.
func (c *pipelineShowCommand) Run(e *env) error {
	return c.on(e, func(engine *app.Engine, tenant core.TenantAlias) error {
		s, err := engine.Pipelines.Settings(e.ctx, tenant)
		if err != nil {
			return err
		}
		return printSettings(e, s)
	})
}

func printSettings(e *env, s pipeline.Settings) error {
	var out bytes.Buffer
	if err := json.Indent(&out, wire.PipelineSettings(s), "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(e.out, out.String())
	return err
}

type pipelineSetCommand struct {
	webhookFlags
	File string `arg:"" help:"File with the settings as JSON, as show prints them; - reads the standard input. A key that is left out gets its default."`
}

// Run stores the settings and prints them.
func (c *pipelineSetCommand) Run(e *env) error {
	var in io.Reader = os.Stdin
	if c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	body, err := io.ReadAll(io.LimitReader(in, wire.MaxBody+1))
	if err != nil {
		return err
	}
	s, err := wire.ParsePipelineSettings(body)
	if err != nil {
		return err
	}
	return c.on(e, func(engine *app.Engine, tenant core.TenantAlias) error {
		if err := engine.Admin.Pipelines.Change(e.ctx, members.OperatorOf(tenant), s); err != nil {
			return err
		}
		return printSettings(e, s)
	})
}

type pipelineSecretCommand struct {
	webhookFlags
	Overlap time.Duration `default:"24h" help:"How long the old secret stays valid, 0s to 720h; with 0s it ends at once."`
}

// Run rotates the secret and prints the new one.
func (c *pipelineSecretCommand) Run(e *env) error {
	return c.on(e, func(engine *app.Engine, tenant core.TenantAlias) error {
		secret, _, err := engine.Admin.Pipelines.RotateSecret(e.ctx, members.OperatorOf(tenant), core.Time(c.Overlap.Milliseconds()))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(e.out, secret)
		return err
	})
}

type pipelineRevokeCommand struct{ webhookFlags }

// Run removes the secrets.
func (c *pipelineRevokeCommand) Run(e *env) error {
	return c.on(e, func(engine *app.Engine, tenant core.TenantAlias) error {
		return engine.Admin.Pipelines.RemoveSecret(e.ctx, members.OperatorOf(tenant))
	})
}
