// Package script is the script for the pages of shops, which the build minifies
// and compresses: see kith.js for what it does.
package script
