package analytics

import (
	"kith/core"
	"kith/core/link"
)

// Visits is how often a share link was followed on a day, by people, bots or agents.
type Visits struct {
	link.Followed
	// Day is the start of the day, in UTC.
	Day   core.Time
	Times int64
}

// VisitBatch is a set of visits that is stored as a whole. ID identifies it: a batch
// that is stored again adds nothing.
type VisitBatch struct {
	ID string
	// Made is when the batch was made.
	Made   core.Time
	Visits []Visits
}

const (
	// BatchLife is how long a batch may be sent again after it was made.
	BatchLife = core.Day
	// BatchMemory is how long the id of a stored batch is kept: longer than BatchLife,
	// because the clocks of edges and backends differ.
	BatchMemory = 2 * core.Day
)
