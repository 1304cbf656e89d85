// Package core and the packages below it hold every rule of the referral
// programme as pure functions of (state, command, now).
//
// The same source is compiled by TinyGo into the edge component and by Go into
// the backend, so nothing here may read a clock, a random source, a file, a
// socket or a database, print, start a goroutine, or panic on input. The
// imports that are allowed are listed, and enforced, in deps_test.go.
//
// This package itself holds what all the others share: identifiers, the one
// error type, and time.
package core

// Time is an instant in epoch milliseconds, the unit of every date on the wire
// and in the database. Zero means "never".
type Time int64

// Milliseconds of the units the rules are written in.
const (
	Second Time = 1000
	Minute      = 60 * Second
	Hour        = 60 * Minute
	Day         = 24 * Hour
)
