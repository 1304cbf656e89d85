package programdb

import (
	"context"
	"encoding/json"
	"fmt"

	"kith/backend/store"
	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/wire"
)

// conversionColumn is the content of the column conversion of a program.
type conversionColumn struct {
	Event, Reversal string
	Conditions      []string
	Within          core.Time
	// Before is null for programs that were stored before there was this setting.
	Before             *core.Time
	FirstEvent         bool
	Referrer, Referred conversion.Terms
}

// conversionText returns the column conversion of a program; empty if the first PAID
// converts and there are no terms.
func conversionText(p referral.Program) (string, error) {
	if !p.Conversion.ByEvent() && p.ReferrerTerms.None() && p.ReferredTerms.None() {
		return "", nil
	}
	c := conversionColumn{
		Event: p.Conversion.Event, Reversal: p.Conversion.Reversal, Within: p.Conversion.Within, Before: &p.Conversion.Before, FirstEvent: p.Conversion.FirstEvent,
		Referrer: p.ReferrerTerms, Referred: p.ReferredTerms,
	}
	for _, condition := range p.Conversion.Conditions {
		c.Conditions = append(c.Conditions, condition.String())
	}
	text, err := json.Marshal(c)
	return string(text), err
}

func scanConversion(text string, p *referral.Program) error {
	var c conversionColumn
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	p.Conversion = conversion.Rule{Event: c.Event, Reversal: c.Reversal, Within: c.Within, FirstEvent: c.FirstEvent}
	if c.Before != nil {
		p.Conversion.Before = *c.Before
	} else if p.Conversion.ByEvent() {
		p.Conversion.Before = conversion.DefaultBefore
	}
	p.ReferrerTerms, p.ReferredTerms = c.Referrer, c.Referred
	for _, text := range c.Conditions {
		condition, err := conversion.ParseCondition("conversion", text)
		if err != nil {
			return err
		}
		p.Conversion.Conditions = append(p.Conversion.Conditions, condition)
	}
	return nil
}

// MaxVersions is the most versions of a program that are kept, the latest.
const MaxVersions = 200

// putVersion records a program that converts by events, or has done so before, as it is
// from now on. before is the stored program; the zero Program for a new one.
func putVersion(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, p, before referral.Program) error {
	if !p.Conversion.ByEvent() && !before.Conversion.ByEvent() {
		has, err := store.One[bool](ctx, tx.Reads, "program versions",
			`SELECT EXISTS (SELECT 1 FROM program_version WHERE tenant = ? AND program = ?)`, string(tenant), string(p.Key))
		if err != nil || !has {
			return err
		}
	}
	if before.Key != "" && p.Conversion.ByEvent() && !before.Conversion.ByEvent() {
		if err := insertVersion(ctx, tx, tenant, before, before.Created, "OR IGNORE"); err != nil {
			return err
		}
	}
	if err := insertVersion(ctx, tx, tenant, p, tx.Now, "OR REPLACE"); err != nil {
		return err
	}
	return tx.Exec(ctx, "forget program versions", `DELETE FROM program_version WHERE tenant = ?1 AND program = ?2 AND since < (
		SELECT min(since) FROM (SELECT since FROM program_version WHERE tenant = ?1 AND program = ?2 ORDER BY since DESC LIMIT ?3))`,
		string(tenant), string(p.Key), MaxVersions)
}

func insertVersion(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, p referral.Program, since core.Time, or string) error {
	return tx.Exec(ctx, "put program version", `INSERT `+or+` INTO program_version (tenant, program, since, event, reversal, settings)
		VALUES (?, ?, ?, ?, ?, ?)`, string(tenant), string(p.Key), int64(since), p.Conversion.Event, p.Conversion.Reversal, string(wire.Program(p)))
}

// Version is a program as it was from a time on.
type Version struct {
	Since core.Time
	// Settings is the program as the API shows it.
	Settings string
}

// VersionColumns are the columns of program_version for a Version.
var VersionColumns = store.Selection[Version]{
	store.Col(`since`, func(v *Version) any { return &v.Since }),
	store.Col(`settings`, func(v *Version) any { return &v.Settings }),
}

// Plan returns what the version says about conversion.
func (v Version) Plan() (conversion.Plan, error) {
	p, err := wire.ReadProgram("", []byte(v.Settings))
	if err != nil {
		// It is not about the call that is decided.
		return conversion.Plan{}, fmt.Errorf("store: program version: %v", err)
	}
	return p.Plan(v.Since), nil
}

// EventNames returns the names of the events that programs of a tenant use, or have used.
func EventNames(ctx context.Context, r store.Reads, tenant core.TenantAlias) ([]string, error) {
	return store.List[string](ctx, r, "event names", `SELECT event FROM program_version WHERE tenant = ?1 AND event <> ''
		UNION SELECT reversal FROM program_version WHERE tenant = ?1 AND event <> ''
		UNION SELECT ?2 FROM program WHERE tenant = ?1 AND money_back > 0`, string(tenant), conversion.DefaultReversal)
}

// Versions returns the versions of a program, the latest first. A program that never
// converted by events has none.
func Versions(ctx context.Context, r store.Reads, tenant core.TenantAlias, key core.ProgramKey) ([]Version, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+VersionColumns.SQL()+` FROM program_version WHERE tenant = ? AND program = ? ORDER BY since DESC LIMIT ?`,
		string(tenant), string(key), MaxVersions)
	return VersionColumns.All(rows, err, "program versions")
}
