package serve

import "testing"

// The script is compressed for clients that accept gzip (RFC 9110, 12.5.3).
func TestAcceptsGzip(t *testing.T) {
	for header, want := range map[string]bool{
		"": false, "gzip": true, "GZIP": true, "br, gzip": true, "gzip;q=0.5": true, "gzip; q=1": true, "*": true, "br;q=1, *;q=0.1": true,
		"gzip;q=0": false, "gzip; q=0.000": false, "br": false, "identity": false, "*;q=0": false, "gzipped": false, "x-gzip": false,
	} {
		if got := acceptsGzip(header); got != want {
			t.Errorf("%q: %t", header, got)
		}
	}
}
