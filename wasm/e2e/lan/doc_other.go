//go:build !linux

// Package lan needs Linux.
package lan
