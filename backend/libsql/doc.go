// Package libsql is a client of libSQL databases, in files and on servers.
//
// A Database runs the statements of many callers, each as a transaction of its own;
// the host of the edge component uses it. Statements that arrive together are written
// in one transaction (groupWriter), and read from a server in one message
// (groupReader). When a server does not answer, the next one is used (replicas).
//
// The store runs transactions of many statements through database/sql. It uses a
// Connector or a Pipeline, which make connections, and a Log, which flushes the
// commits of a file to the disk.
//
// This package knows neither the statements nor the callers.
package libsql
