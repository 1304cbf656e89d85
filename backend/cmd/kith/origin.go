package main

import (
	"fmt"

	"kith/backend/app"
	"kith/core"
	"kith/core/origin"
	"kith/core/people"
)

type originCommand struct {
	Add    originAddCommand    `cmd:"" help:"Add origins to the list."`
	Remove originRemoveCommand `cmd:"" help:"Remove an origin from the list."`
	List   originListCommand   `cmd:"" help:"Print the list of origins. The origins of landing pages are allowed too, and are not on the list."`
}

type originAddCommand struct {
	databaseFlags
	Alias   string   `arg:"" help:"Alias of the tenant. The test tenant has its own list."`
	Origins []string `arg:"" name:"origin" help:"Origins such as https://shop.example."`
}

// Run adds all of the origins, or none if one is invalid.
func (c *originAddCommand) Run(e *env) error {
	origins, err := parseOrigins(c.Origins)
	if err != nil {
		return err
	}
	return c.with(e, func(engine *app.Engine) error {
		return engine.Admin.Website.AddOrigins(e.ctx, people.OperatorOf(core.TenantAlias(c.Alias)), origins...)
	})
}

func parseOrigins(texts []string) (all []origin.Origin, err error) {
	for _, text := range texts {
		o, err := origin.Parse("origin", text)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

type originRemoveCommand struct {
	databaseFlags
	Alias  string `arg:"" help:"Alias of the tenant."`
	Origin string `arg:"" help:"Origin to remove."`
}

// Run removes the origin. It fails if the origin is not listed.
func (c *originRemoveCommand) Run(e *env) error {
	o, err := origin.Parse("origin", c.Origin)
	if err != nil {
		return err
	}
	return c.with(e, func(engine *app.Engine) error {
		return engine.Admin.Website.RemoveOrigin(e.ctx, people.OperatorOf(core.TenantAlias(c.Alias)), o)
	})
}

type originListCommand struct {
	databaseFlags
	Alias string `arg:"" help:"Alias of the tenant."`
}

// Run prints one line for each origin.
func (c *originListCommand) Run(e *env) error {
	return c.with(e, func(engine *app.Engine) error {
		origins, err := engine.Origins.List(e.ctx, core.TenantAlias(c.Alias))
		for _, o := range origins {
			fmt.Fprintln(e.out, o)
		}
		return err
	})
}
