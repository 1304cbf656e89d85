// Package core and the packages below it implement every rule of the referral program
// as pure functions of (state, command, now).
//
// The same source is compiled by TinyGo into the edge component and by Go into the
// backend, so nothing here may read a clock, a random source, a file, a socket or a
// database, print, start a goroutine, or panic on input. deps_test.go lists the
// allowed imports and enforces them.
//
// Package core itself defines what all of them share: identifiers, the error type,
// and time.
package core

// Time is an instant in epoch milliseconds, the unit of every date on the wire
// and in the database. Zero means "never".
type Time int64

// Units of time.
const (
	Second Time = 1000
	Minute      = 60 * Second
	Hour        = 60 * Minute
	Day         = 24 * Hour
)
