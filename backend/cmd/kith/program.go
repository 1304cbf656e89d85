package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/portal/frame"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/conversion"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/wire"
)

type programCommand struct {
	List   programListCommand   `cmd:"" help:"List the programs of a tenant."`
	Show   programShowCommand   `cmd:"" help:"Print what a program does."`
	Set    programSetCommand    `cmd:"" help:"Change settings of a program. Settings that are not given stay as they are."`
	Apply  programApplyCommand  `cmd:"" help:"Store a program from a file: a new one, or in place of the one with its key."`
	Try    programTryCommand    `cmd:"" help:"Explain what an event would cause in a program, and why."`
	Orders programOrdersCommand `cmd:"" help:"Print the orders of a referred account: what each earned, or why it earned nothing."`
}

// tenantFlags name the database and a tenant.
type tenantFlags struct {
	databaseFlags
	Tenant core.TenantAlias `required:"" env:"KITH_TENANT" help:"Alias of the tenant." placeholder:"ALIAS"`
}

// with is databaseFlags.with for a tenant that exists.
func (f *tenantFlags) with(e *env, do func(*app.Engine) error) error {
	return f.databaseFlags.with(e, func(engine *app.Engine) error {
		if _, err := tenantdb.Find(e.ctx, engine.DB.Reads, f.Tenant); err != nil {
			return err
		}
		return do(engine)
	})
}

type programListCommand struct{ tenantFlags }

// Run lists the programs.
func (c *programListCommand) Run(e *env) error {
	return c.with(e, func(engine *app.Engine) error {
		programs, err := engine.Programs.List(e.ctx, c.Tenant)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
		for _, p := range programs {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.Key, p.Name, p.LandingURL, p.Summary())
		}
		return w.Flush()
	})
}

type programShowCommand struct {
	tenantFlags
	JSON bool            `name:"json" help:"Print all settings as JSON, as kith program apply reads them."`
	Key  core.ProgramKey `arg:"" help:"Key of the program."`
}

// Run prints a program.
func (c *programShowCommand) Run(e *env) error {
	return c.with(e, func(engine *app.Engine) error {
		p, err := engine.Programs.ByKey(e.ctx, c.Tenant, c.Key)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(e.out, wire.Program(p))
		}
		if err := showProgram(e.out, p); err != nil {
			return err
		}
		for _, side := range []referral.SideKey{referral.ReferrerSide, referral.ReferredSide} {
			if p.Offer(side).Kind != reward.FuelTank {
				continue
			}
			tank, err := engine.FuelTanks.Level(e.ctx, c.Tenant, c.Key, side)
			if err != nil {
				return err
			}
			fmt.Fprintf(e.out, "The fuel tank of the %s has %d codes available; %d were given, and %d rewards wait for one.\n", side, tank.Available, tank.Given, tank.Due)
		}
		return nil
	})
}

// showProgram prints what a program does, in sentences.
func showProgram(out io.Writer, p referral.Program) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s (%s)\n", p.Name, p.Key)
	for _, s := range p.Describe() {
		text.WriteString(s.Text + "\n")
	}
	_, err := io.WriteString(out, text.String())
	return err
}

type programSetCommand struct {
	tenantFlags
	Key     core.ProgramKey `arg:"" help:"Key of the program."`
	Setting []string        `arg:"" help:"NAME=VALUE, such as limits.rewards=3: the name of a setting and its value. kith api PUT /programs/{program} --describe lists the names, and kith api --help says how values are read."`
}

// Run changes a program and prints it.
func (c *programSetCommand) Run(e *env) error {
	// Before the transaction, whose function may run again: the standard input is read once.
	fields, err := parseFields(c.Setting, "")
	if err != nil {
		return err
	}
	return c.with(e, func(engine *app.Engine) error {
		p, err := engine.Admin.Programs.Update(e.ctx, people.OperatorOf(c.Tenant), c.Key, func(p *referral.Program) error {
			body, err := withFields(wire.Program(*p), fields)
			if err != nil {
				return err
			}
			*p, err = wire.ParseProgram(c.Key, body)
			return err
		})
		if err != nil {
			return err
		}
		return showProgram(e.out, p)
	})
}

type programApplyCommand struct {
	tenantFlags
	File string `arg:"" help:"File with the program as JSON, as kith program show --json prints it; - is the standard input. A setting that is left out gets its default, but rewards.moneyBackDuration stays as it is."`
}

// Run stores a program and prints it.
func (c *programApplyCommand) Run(e *env) error {
	body, err := readInput("file", c.File)
	if err != nil {
		return err
	}
	p, err := wire.ParseProgram("", body)
	if err != nil {
		return err
	}
	return c.with(e, func(engine *app.Engine) error {
		operator := people.OperatorOf(c.Tenant)
		stored, err := engine.Admin.Programs.Update(e.ctx, operator, p.Key, func(old *referral.Program) error {
			*old = p
			return nil
		})
		if base.IsNotFound(err) {
			stored, err = engine.Admin.Programs.Create(e.ctx, operator, p)
		}
		if err != nil {
			return err
		}
		return showProgram(e.out, stored)
	})
}

type programTryCommand struct {
	tenantFlags
	Key            core.ProgramKey `arg:"" help:"Key of the program."`
	Event          string          `required:"" help:"Key of the event, such as purchase." placeholder:"KEY"`
	Field          []string        `sep:"none" help:"Field of the event, such as revenue=80. A number, true, false or a JSON array is taken as such, and anything else as text. May be repeated." placeholder:"NAME=VALUE"`
	Account        string          `xor:"orders,conversions,rewards,ago,earlier" help:"A referred account, whose orders and referrer count." placeholder:"ID"`
	Orders         int64           `xor:"orders" help:"Without --account: orders of the referral before." placeholder:"N"`
	Conversions    int64           `xor:"conversions" help:"Without --account: conversions of the referrer before, for tiers." placeholder:"N"`
	Rewards        int64           `xor:"rewards" help:"Without --account: rewards of the referrer before, for limits." placeholder:"N"`
	AttributedDays int64           `xor:"ago" help:"Without --account: days since the attribution, for the time limit of the program." placeholder:"DAYS"`
	EarlierEvent   bool            `xor:"earlier" help:"Without --account: the account had such an event before, for a program that takes the first event only."`
}

// Help says what the command does not do.
func (programTryCommand) Help() string {
	return "Explains what an event would cause in the program as it is now, step by step. Nothing is stored, sent or rewarded."
}

// Run prints what an event would cause.
func (c *programTryCommand) Run(e *env) error {
	fields := map[string]any{}
	for _, field := range c.Field {
		name, value, ok := strings.Cut(field, "=")
		if !ok || name == "" {
			return core.Invalid("field", "must be NAME=VALUE, such as revenue=80")
		}
		fields[name] = fieldValue(value)
	}
	body := map[string]any{"event": map[string]any{"key": c.Event, "fields": fields}}
	if c.Account != "" {
		body["accountId"] = c.Account
	} else {
		body["orders"], body["conversions"], body["rewards"], body["earlierEvent"] = c.Orders, c.Conversions, c.Rewards, c.EarlierEvent
		if c.AttributedDays > 0 {
			body["dateAttributed"] = int64(now() - core.Time(c.AttributedDays)*core.Day)
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	trial, err := wire.ParseTrial(text)
	if err != nil {
		return err
	}
	return c.with(e, func(engine *app.Engine) error {
		d, steps, err := engine.Orders.Try(e.ctx, c.Tenant, c.Key, trial)
		if err != nil {
			return err
		}
		return showTrial(e.out, d, steps)
	})
}

func showTrial(out io.Writer, d conversion.Decision, steps []conversion.Step) error {
	var text strings.Builder
	for _, step := range steps {
		mark := "✗ "
		if step.Passed {
			mark = "✓ "
		}
		text.WriteString(mark + step.Text + "\n")
	}
	switch {
	case d.Number == 1:
		text.WriteString("The event converts the referral.\n")
	case d.Counts():
		text.WriteString("The event places a further order of the referral.\n")
	default:
		text.WriteString("The event earns nothing.\n")
	}
	_, err := io.WriteString(out, text.String())
	return err
}

type programOrdersCommand struct {
	tenantFlags
	Account core.AccountID `arg:"" help:"Id of the referred account."`
	Limit   int            `default:"20" help:"Most orders to print, the latest first: 1 to 1000." placeholder:"N"`
}

// Help says for which question the command is.
func (programOrdersCommand) Help() string {
	return "Answers why a user got a reward, or did not: each order of the referred account with its refunds, and what both sides earned or why they earned nothing."
}

// Run prints the orders of an account's referral.
func (c *programOrdersCommand) Run(e *env) error {
	if c.Limit < 1 || c.Limit > 1000 {
		return core.Invalid("limit", "must be 1 to 1000")
	}
	return c.with(e, func(engine *app.Engine) error {
		found, _, err := engine.Referrals.List(e.ctx, c.Tenant, referral.Filter{ReferredAccount: c.Account, Limit: 1})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			_, err = fmt.Fprintf(e.out, "account %s was not referred\n", c.Account)
			return err
		}
		ref := found[0]
		page, total, err := engine.Orders.List(e.ctx, c.Tenant, ref.ID, c.Limit, 0)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.out, "account %s was referred by %s of account %s with the code %s in the program %s; %s\n",
			c.Account, ref.Referrer.User, ref.Referrer.Account, ref.Code, ref.Program, ref.State)
		for _, o := range page {
			fmt.Fprint(e.out, orderText(o, now()))
		}
		_, err = fmt.Fprintf(e.out, "%d of %d orders\n", len(page), total)
		return err
	})
}

// orderText returns an order in lines: what it is, and what each side earned.
func orderText(o wire.Order, at core.Time) string {
	text := "order " + o.Order.Key
	switch {
	case o.Event == "":
		return text + ": only refunds have come\n"
	case o.HasRevenue:
		text += " of " + clock(o.At) + ": " + reward.Pretty(o.Revenue, reward.UnitCents, o.Currency, reward.UnitFormatted)
	default:
		text += " of " + clock(o.At) + ": no revenue"
	}
	switch refunded, whole := o.Refunded(); {
	case whole:
		text += ", refunded in full"
	case refunded > 0:
		text += ", " + reward.Pretty(refunded, reward.UnitCents, o.Currency, reward.UnitFormatted) + " refunded"
	}
	if o.Reason != "" {
		return text + "\n  ✗ " + o.Reason.Sentence() + detailText(o.Detail) + "\n"
	}
	for side, name := range []string{"the referrer", "the friend"} {
		paid, w := o.Sides[side], o.Rewards[side]
		switch {
		case paid.Reason != "":
			text += "\n  ✗ " + name + " earns nothing. " + paid.Reason.Sentence()
		case w == nil:
			text += "\n  ✗ " + name + " has no reward."
		default:
			text += "\n  ✓ " + name + " earns " + prettyReward(*w, w.Offer.Value())
			if w.Sums.Reversed > 0 {
				text += ", of which refunds took back " + prettyReward(*w, w.Sums.Reversed)
			}
			text += "; the reward " + w.ID + " is " + strings.ToLower(frame.RewardStatus(*w, at)) + "."
		}
	}
	if unread := o.Unread(); unread != "" {
		text += "\n  ✗ Not read: " + unread + "."
	}
	return text + "\n"
}

func prettyReward(w reward.Reward, value int64) string {
	return reward.Pretty(value, w.Offer.Unit, w.Offer.Currency, reward.UnitFormatted)
}

func detailText(detail string) string {
	if detail == "" {
		return ""
	}
	return " " + detail + "."
}
