package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// jsonListener makes errors JSON that net/http answers in plain text before it
// calls a handler: to what is no HTTP, such as a path with %zz, and to headers
// that are too large. net/http has no other way in.
type jsonListener struct{ net.Listener }

// Accept returns the next connection.
func (l jsonListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return jsonConn{c}, nil
}

type jsonConn struct{ net.Conn }

// plainError is what follows the status line of an error of net/http's own, and
// of nothing that a handler answers, which has a Date.
var plainError = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

// Write sends an error of net/http's own, which is one write, as JSON.
func (c jsonConn) Write(b []byte) (int, error) {
	line, _, found := bytes.Cut(b, plainError)
	if !found || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) || bytes.Contains(line, []byte("\n")) {
		return c.Conn.Write(b)
	}
	if _, err := c.Conn.Write(jsonError(string(line[len("HTTP/1.1 "):]))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// jsonError is the answer for a status of net/http, such as "400 Bad Request:
// missing required Host header". What was asked is not known, so the answer does
// not depend on it: a page of any origin may read it.
func jsonError(status string) []byte {
	number, _, _ := strings.Cut(status, " ")
	code, _ := strconv.Atoi(number)
	message, word := "the request is not valid HTTP ("+status+"); check the path and the headers: a path has %25 for %", "BAD_REQUEST"
	if code == 431 {
		message, word = fmt.Sprintf("headers: must not have more than %d KiB together; send fewer or shorter ones", maxHeader>>10), "HEADERS_TOO_LARGE"
	}
	text, _ := json.Marshal(message)
	body := fmt.Sprintf(`{"message":%s,"statusCode":%d,"apiErrorCode":"%s"}`, text, code, word)
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nCache-Control: private, no-store\r\n"+
		"Access-Control-Allow-Origin: *\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", status, len(body), body)
}
