package link

import (
	"strings"
	"testing"
)

// answerTo returns the status, headers and body of an answer as one text; or "404".
func answerTo(s Script, query, acceptEncoding, ifNoneMatch string) string {
	a, err := s.Answer(query, acceptEncoding, ifNoneMatch)
	if err != nil {
		return "404"
	}
	var b strings.Builder
	for _, h := range a.Headers {
		b.WriteString(h[0] + ": " + h[1] + "\n")
	}
	return b.String() + string(a.Body)
}

// A version names one content: it is cached permanently, and no other content is
// answered for it.
func TestScript_Version(t *testing.T) {
	s := NewScript([]byte("alert(1)"), nil)
	version := s.Version()
	if len(version) != 16 || version == NewScript([]byte("alert(2)"), nil).Version() {
		t.Errorf("version %q", version)
	}
	for query, want := range map[string]string{
		"": unversionedCache, "again": unversionedCache, "a=v": unversionedCache, "V=1": unversionedCache,
		"v=" + version: versionedCache, "a=1&v=" + version: versionedCache,
		"v": "404", "v=": "404", "v=0123456789abcdef": "404", "v=" + version + "0": "404", "v=" + strings.ToUpper(version): "404",
		"v=" + version + "&v=": "404", "v=1&v=" + version: "404",
	} {
		got := answerTo(s, query, "", "")
		if want != "404" {
			want = "cache-control: " + want + "\nvary: Accept-Encoding\naccess-control-allow-origin: *\ncross-origin-resource-policy: cross-origin\n" +
				`etag: "` + version + `"` + "\ncontent-type: text/javascript; charset=utf-8\nalert(1)"
		}
		if got != want {
			t.Errorf("%q: %s", query, got)
		}
	}
}

// A client that has the content is not sent it again; the compressed one has a tag of
// its own.
func TestScript_Tag(t *testing.T) {
	s := NewScript([]byte("alert(1)"), []byte("zip"))
	plain, zipped := `"`+s.Version()+`"`, `"`+s.Version()+`-gzip"`
	for _, c := range []struct {
		encoding, known, body string
		status                int
	}{
		{"", "", "alert(1)", 200},
		{"gzip", "", "zip", 200},
		{"", plain, "", 304},
		{"", "W/" + plain, "", 304},
		{"", `"other", ` + plain, "", 304},
		{"gzip", zipped, "", 304},
		{"gzip", "*", "", 304},
		{"gzip", plain, "zip", 200},
		{"", zipped, "alert(1)", 200},
		{"", s.Version(), "alert(1)", 200},
	} {
		a, err := s.Answer("", c.encoding, c.known)
		if err != nil || a.Status != c.status || string(a.Body) != c.body {
			t.Errorf("%+v: %+v %v", c, a, err)
		}
	}
}

// The script is compressed for clients that accept gzip (RFC 9110, 12.5.3).
func TestAcceptsGzip(t *testing.T) {
	for header, want := range map[string]bool{
		"": false, "gzip": true, "GZIP": true, "br, gzip": true, "gzip;q=0.5": true, "gzip; q=1": true, "*": true, "br;q=1, *;q=0.1": true,
		"gzip;q=0": false, "gzip; q=0.000": false, "br": false, "identity": false, "*;q=0": false, "gzipped": false, "x-gzip": false,
	} {
		if got := AcceptsGzip(header); got != want {
			t.Errorf("%q: %t", header, got)
		}
	}
}
