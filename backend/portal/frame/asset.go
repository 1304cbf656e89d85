package frame

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"

	"kith/core/link"
)

//go:embed asset
var assetFiles embed.FS

// thirdParty has the third-party files that the pages load, and their licences.
//
//go:embed third_party
var thirdParty embed.FS

// assetPath begins the paths of the files that pages load. The hash and the name follow.
const assetPath = Root + "/assets/"

// asset is a file that pages load, as it is and in gzip. It is packed when a browser asks for
// it: to pack all takes 15 ms of a processor, at each start.
type asset struct {
	kind, path string
	plain      []byte
	packed     func() []byte
}

// ownAssets returns the files that all portals have, by their names. Their URLs have a hash
// of their content, so that browsers keep them for a year.
func ownAssets() map[string]asset {
	return map[string]asset{
		"portal.js": newAsset(mustRead(assetFiles, "asset/portal.js"), "text/javascript; charset=utf-8"),
		"draft.js":  newAsset(mustRead(assetFiles, "asset/draft.js"), "text/javascript; charset=utf-8"),
		"htmx.js":   newAsset(mustRead(thirdParty, "third_party/htmx/htmx.min.js"), "text/javascript; charset=utf-8"),
	}
}

// Chart returns the script and the style sheet of uPlot, for a section that draws charts.
func Chart() (script, style string) {
	return string(mustRead(thirdParty, "third_party/uplot/uPlot.iife.min.js")), string(mustRead(thirdParty, "third_party/uplot/uPlot.min.css"))
}

func mustRead(from embed.FS, file string) []byte {
	text, err := from.ReadFile(file)
	if err != nil {
		panic(err) // the file is embedded
	}
	return text
}

func newAsset(plain []byte, kind string) asset {
	sum := sha256.Sum256(plain)
	return asset{kind: kind, path: assetPath + hex.EncodeToString(sum[:6]) + "/", plain: plain, packed: sync.OnceValue(func() []byte {
		var packed bytes.Buffer
		zip, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		_, _ = zip.Write(plain) // a buffer takes all
		_ = zip.Close()
		return packed.Bytes()
	})}
}

// addStyle adds the style sheet of the frame and of the sections.
func (p *Portal) addStyle(ofSections string) {
	text := append(mustRead(assetFiles, "asset/portal.css"), ofSections...)
	p.assets["portal.css"] = newAsset(text, "text/css; charset=utf-8")
}

// addScript adds the script of a section, and returns its path.
func (p *Portal) addScript(name, text string) string {
	name += ".js"
	p.assets[name] = newAsset([]byte(text), "text/javascript; charset=utf-8")
	return p.assetURL(name)
}

// assetURL returns the path of a file that pages load.
func (p *Portal) assetURL(name string) string { return p.assets[name].path + name }

// Assets returns the paths of all files that pages load.
func (p *Portal) Assets() (paths []string) {
	for name := range p.assets {
		paths = append(paths, p.assetURL(name))
	}
	return paths
}

// serveAsset answers a request for a file.
func (p *Portal) serveAsset(w http.ResponseWriter, r *http.Request, rest string) {
	_, name, _ := strings.Cut(rest, "/")
	a, ok := p.assets[name]
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if !ok || r.URL.Path != a.path+name || r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Cache-Control", "no-store")
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	body := a.plain
	if link.AcceptsGzip(strings.Join(r.Header.Values("Accept-Encoding"), ",")) {
		h.Set("Content-Encoding", "gzip")
		body = a.packed()
	}
	_, _ = w.Write(body)
}
