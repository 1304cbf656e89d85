package base

import (
	"time"

	"kith/core"
)

// ParseZone returns a time zone by its name in the IANA database, such as Europe/Berlin, or an
// error about field. No name is UTC.
func ParseZone(field, name string) (*time.Location, error) {
	// The zone of the machine is not one that others know by its name.
	if zone, err := time.LoadLocation(name); err == nil && len(name) <= 64 && name != "Local" {
		return zone, nil
	}
	return nil, core.Invalid(field, "is not the name of a time zone; give one like Europe/Berlin")
}
