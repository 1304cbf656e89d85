package jobs

import (
	"context"
	"slices"
	"strings"

	"kith/backend/store/programdb"
	"kith/core"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/wire"
)

// Repeated is a referral code that two rows of a file give to different users: the second row
// is rejected.
type Repeated struct {
	Code string
	// Rows are the numbers of the two rows.
	Rows [2]int64
}

const (
	// maxNotices is the number of Checked.Repeated, and of Checked.Unused, at most.
	maxNotices = 20
	// maxCodes is the number of codes that are compared with those of later rows.
	maxCodes = 50_000
)

// notices has what is known for Checked.Repeated and Checked.Unused.
type notices struct {
	// events are the names of events that programs use.
	events []string
	// columns are the columns with codes, and codes the rows that had a code first.
	columns []int
	codes   map[string]firstRow
}

// firstRow is the first row with a code, and its user.
type firstRow struct {
	number int64
	user   [2]string
}

// notices returns what is known before the first row.
func (js *Jobs) notices(ctx context.Context, tenant core.TenantAlias, t job.Type, l importfile.Layout) (n notices, err error) {
	switch t {
	case job.ImportUser:
		n.codes = map[string]firstRow{}
		for i, c := range l.Columns {
			if !c.Ignored && (c.Path[0] == "referralCode" || c.Path[0] == "referralCodes") {
				n.columns = append(n.columns, i)
			}
		}
	case job.ImportUserEvent:
		n.events, err = programdb.EventNames(ctx, js.DB.Reads, tenant)
	}
	return n, err
}

// note adds what a good row shows to the result of a check.
func (n *notices) note(c *Checked, t job.Type, number int64, row wire.Row) {
	key := ""
	if t == job.ImportUserEvent && len(c.Unused) < maxNotices {
		key = row.Value("event.key")
	}
	if key != "" && !slices.Contains(n.events, key) && !slices.Contains(c.Unused, key) {
		c.Unused = append(c.Unused, key)
	}
	for _, i := range n.columns {
		code := strings.ToLower(row.Cell(i))
		here := firstRow{number, [2]string{row.Value("accountId"), row.Value("id")}}
		switch first, known := n.codes[code]; {
		case code == "":
		case !known && len(n.codes) < maxCodes:
			n.codes[code] = here
		case known && first.user != here.user && len(c.Repeated) < maxNotices:
			c.Repeated = append(c.Repeated, Repeated{row.Cell(i), [2]int64{first.number, number}})
		}
	}
}
