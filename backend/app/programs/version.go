package programs

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"kith/backend/store/peopledb"
	"kith/backend/store/programdb"
	"kith/core"
	"kith/core/referral"
	"kith/core/wire"
)

// maxVersions is the most versions that Versions returns.
const maxVersions = 50

// Versions returns what a program was from each change on, the latest first, at most 50. An
// unknown program is a not-found error.
//
// The store keeps the versions of programs that convert by events, and the audit log has
// the changes that members made. A change that neither has, by a caller of the API, is
// found as the state before the next one.
func (ps *Programs) Versions(ctx context.Context, tenant core.TenantAlias, key core.ProgramKey) ([]wire.ProgramVersion, error) {
	now, err := programdb.ByKey(ctx, ps.DB.Reads, tenant, key)
	if err != nil {
		return nil, err
	}
	stored, err := programdb.Versions(ctx, ps.DB.Reads, tenant, key)
	if err != nil {
		return nil, err
	}
	entries, err := peopledb.ProgramEntries(ctx, ps.DB.Reads, tenant, key, programdb.MaxVersions)
	if err != nil {
		return nil, err
	}
	found := versions{}
	found.add(now.Modified, now)
	for _, v := range stored {
		found.read(v.Since, v.Settings)
	}
	for _, e := range entries {
		found.read(0, e.Before)
		found.read(e.At, e.After)
		if v := found[e.At]; v != nil {
			v.By = e.Actor
		}
	}
	return found.list(now.Created), nil
}

// versions are versions by the time from which on they apply.
type versions map[core.Time]*wire.ProgramVersion

// read adds a program as JSON, unless a version of that time is known. Without a time it is
// the time of the program's last change. A program that was left out, because it was too
// large for the audit log, is skipped.
func (all versions) read(since core.Time, settings string) {
	p, modified, err := wire.ReadStoredProgram([]byte(settings))
	if err == nil {
		all.add(cmp.Or(since, modified), p)
	}
}

func (all versions) add(since core.Time, p referral.Program) {
	if all[since] == nil && since != 0 {
		all[since] = &wire.ProgramVersion{Since: since, Program: p}
	}
}

// list returns the versions, the latest first, without those that changed nothing. created is
// when the program was created.
func (all versions) list(created core.Time) (list []wire.ProgramVersion) {
	last := ""
	for _, since := range slices.Sorted(maps.Keys(all)) {
		v := *all[since]
		v.Program.Created, v.Program.Modified = 0, 0
		if is := string(wire.Program(v.Program)); is != last {
			v.Program.Created, v.Program.Modified = created, since
			list, last = append(list, v), is
		}
	}
	slices.Reverse(list)
	return list[:min(len(list), maxVersions)]
}
