package base

import (
	"time"

	"kith/core"
)

// ParseZone returns a time zone by its name in the IANA database, such as Europe/Berlin, or an
// error about field. No name is UTC.
func ParseZone(field, name string) (*time.Location, error) {
	// Local and other names that the database does not give to a place or to UTC, such as
	// posixrules and right/UTC, mean something else on another machine.
	if zone, err := time.LoadLocation(name); err == nil && len(name) <= 64 && name != "Local" && name != "Factory" && (name == "" || 'A' <= name[0] && name[0] <= 'Z') {
		return zone, nil
	}
	return nil, core.Invalid(field, "is not the name of a time zone; give one like Europe/Berlin")
}
