// Package libsql speaks to libSQL databases, files and servers.
//
// A Database runs the statements of many callers, each a transaction by itself: the
// host of the edge's component has nothing else to ask. What arrives together is
// written in one transaction (groupWriter), and read from a server in one batch (batchReader);
// a server that does not answer is passed over for the next one (replicas).
//
// It knows no statement, and nothing of who asks.
package libsql
