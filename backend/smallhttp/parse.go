package smallhttp

import (
	"bytes"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// maxFields is the most headers of a small request.
const maxFields = 64

// methods are those of small requests.
var methods = map[string]bool{"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true, "OPTIONS": true}

// unusual are the headers that only net/http understands: they say where a request ends, what
// the connection is used for, or what the server must do before the answer. net/http also
// converts Pragma.
var unusual = map[string]bool{
	"Expect": true, "Http2-Settings": true, "Keep-Alive": true, "Pragma": true, "Proxy-Connection": true,
	"Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

// class has a bit for each set of characters that a byte belongs to.
type class byte

const (
	inTarget class = 1 << iota // visible ASCII characters but "#"
	inHost                     // a name or an address, with a port
	isDigit
)

var classes = func() (of [256]class) {
	for i := range of {
		c, set := byte(i), class(0)
		digit := c >= '0' && c <= '9'
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if digit {
			set |= isDigit
		}
		if c > ' ' && c < 0x7f && c != '#' {
			set |= inTarget
		}
		if digit || letter || strings.IndexByte(".-_:[]", c) >= 0 {
			set |= inHost
		}
		of[i] = set
	}
	return of
}()

// only reports whether all bytes of s, and at least one, belong to a class.
func only(s string, want class) bool {
	for i := range len(s) {
		if classes[s[i]]&want == 0 {
			return false
		}
	}
	return s != ""
}

// parse returns the request that b begins with, and its length in bytes; nil if it is not
// complete or not small, so that net/http must read it.
func parse(b []byte) (*http.Request, int) {
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		return nil, 0
	}
	head, rest := string(b[:end+2]), b[end+4:] // the request's texts are parts of head
	line, fields, _ := strings.Cut(head, "\r\n")
	method, line, _ := strings.Cut(line, " ")
	target, version, _ := strings.Cut(line, " ")
	if !methods[method] || version != "HTTP/1.1" || !strings.HasPrefix(target, "/") || !only(target, inTarget) {
		return nil, 0
	}
	r := &http.Request{Method: method, RequestURI: target, Proto: version, ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody}
	if !parseFields(r, fields) || r.ContentLength > int64(len(rest)) {
		return nil, 0
	}
	var err error
	if r.URL, err = url.ParseRequestURI(target); err != nil {
		return nil, 0
	}
	if n := r.ContentLength; n > 0 {
		r.Body = io.NopCloser(bytes.NewReader(bytes.Clone(rest[:n])))
	}
	return r, end + 4 + int(r.ContentLength)
}

// parseFields reads the headers of a request, each of which ends in CRLF. It returns false if
// one is not small.
func parseFields(r *http.Request, fields string) bool {
	n := strings.Count(fields, "\n")
	if n > maxFields {
		return false
	}
	r.Header = make(http.Header, n)
	values := make([]string, n) // one allocation for all
	for i := 0; fields != ""; i++ {
		var line string
		line, fields, _ = strings.Cut(fields, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) || len(line) == len(name) {
			return false
		}
		switch name = textproto.CanonicalMIMEHeaderKey(name); name {
		case "Host":
			if r.Host != "" || !only(value, inHost) {
				return false
			}
			r.Host = value
			continue
		case "Content-Length":
			if r.Header[name] != nil || !parseLength(&r.ContentLength, value) {
				return false
			}
		case "Connection":
			if !strings.EqualFold(value, "keep-alive") {
				return false
			}
		default:
			if unusual[name] {
				return false
			}
		}
		if earlier := r.Header[name]; earlier != nil {
			r.Header[name] = append(earlier, value)
		} else {
			values[i] = value
			r.Header[name] = values[i : i+1 : i+1]
		}
	}
	return r.Host != ""
}

// parseLength reads the length of a body that may be small.
func parseLength(into *int64, value string) bool {
	if !only(value, isDigit) || len(value) > len(strconv.Itoa(readSize)) {
		return false
	}
	n, err := strconv.ParseInt(value, 10, 64)
	*into = n
	return err == nil
}
