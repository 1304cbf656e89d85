// Package libsql speaks to libSQL databases, files and servers.
//
// A Database runs the statements of many callers, each a transaction of its own, as
// the host of the edge's component needs it. Statements that arrive together are
// written in one transaction (groupWriter), and read from a server in one batch
// (batchReader); a server that does not answer is passed over for the next one
// (replicas).
//
// The store runs transactions of many statements, by database/sql. It uses the parts
// below: a Connector makes connections, a Log flushes what was committed to a file,
// and a Turn shows that others wait for a file's lock.
//
// Nothing here knows the statements, or their callers.
package libsql
