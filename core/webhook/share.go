package webhook

import "kith/core"

// Line is the deliveries that wait for one endpoint.
type Line struct {
	Tenant   core.TenantAlias
	Endpoint Endpoint
}

// Due is a line whose first delivery may be attempted now.
type Due struct {
	Line
	// Failing is true when the last attempt of the line failed.
	Failing bool
}

// Slots are how many attempts a process makes at once.
type Slots struct {
	// All bounds them in all, Line those of one endpoint that is well: fewer
	// when few are left. A failing endpoint gets one at a time.
	All, Line int
}

// Busy is what the slots are taken by.
type Busy struct {
	// Well and Failing are attempts for endpoints of either kind, as they were
	// when the attempt began.
	Well, Failing int
	// Lines are the attempts of each line.
	Lines map[Line]int
}

// Share decides how many attempts each line may begin, in the order of due.
//
// Neither kind of endpoint, well or failing, may take more than three quarters
// of all slots: so those that let every attempt run into its time-out leave
// room for those that answer, however many there are, and are not starved in
// turn. And no line gets more than a quarter of what its kind has left, and one:
// so many endpoints that stop to answer together, while they still count as
// well, do not soon take all.
func (s Slots) Share(due []Due, busy Busy) []int {
	most := (s.All*3 + 3) / 4
	free := s.All - busy.Well - busy.Failing
	well, failing := most-busy.Well, most-busy.Failing
	share := make([]int, len(due))
	for i, d := range due {
		has := busy.Lines[d.Line]
		room, kind := min(s.Line, 1+(well+has)/4), &well
		if d.Failing {
			room, kind = 1, &failing
		}
		n := max(0, min(room-has, *kind, free))
		share[i] = n
		*kind -= n
		free -= n
	}
	return share
}
