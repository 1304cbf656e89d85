package tenantdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
)

// Edited are the tenants of which something was edited that edges keep.
type Edited struct {
	// Last is the number of the last edit; 0 if there was none.
	Last int64
	// Tenants is empty if all may have been edited.
	Tenants []core.TenantAlias
}

// maxEdited is the most tenants in an Edited: their names fit into a URL.
const maxEdited = 50

// EditedSince returns the edits after the one with a number; -1 is before all, and then nothing
// says which tenants were edited.
func EditedSince(ctx context.Context, r store.Reads, number int64) (Edited, error) {
	type edit struct {
		tenant core.TenantAlias
		seq    int64
	}
	columns := store.Selection[edit]{
		store.Col(`tenant`, func(e *edit) any { return &e.tenant }),
		store.Col(`seq`, func(e *edit) any { return &e.seq }),
	}
	rows, err := r.QueryContext(ctx, `SELECT `+columns.SQL()+` FROM edge_edit WHERE seq > ?1 ORDER BY seq DESC LIMIT ?2`, number, maxEdited+1)
	all, err := columns.All(rows, err, "edits")
	if err != nil || len(all) == 0 {
		return Edited{Last: max(number, 0)}, err
	}
	found := Edited{Last: all[0].seq}
	if number < 0 || len(all) > maxEdited {
		return found, nil
	}
	for _, e := range all {
		found.Tenants = append(found.Tenants, e.tenant)
	}
	return found, nil
}
