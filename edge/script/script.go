// Package script embeds the browser script for shops' pages, which the build minifies
// and compresses. See kith.js for its commands.
package script
