// Package statements has the checks of the SQL statements and transactions of the whole tree.
// It is not below backend/store, whose tests run with the race detector: these start no
// goroutines, and would take three times as long.
package statements
