package host

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// response is what the guest answered.
type response struct {
	status  int
	headers []header
	body    []byte
}

// check reports a response that HTTP cannot carry.
func (r *response) check() error {
	if r.status < 200 || r.status > 599 {
		return faultf("response has status %d", r.status)
	}
	for _, h := range r.headers {
		if !isToken(h.name) || strings.ContainsAny(h.value, "\r\n\x00") {
			return faultf("response has the header %q: %q", h.name, h.value)
		}
	}
	return nil
}

// isToken reports whether s can be a header's name (RFC 9110, 5.6.2).
func isToken(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"(),/:;<=>?@[\\]{}", c) >= 0 {
			return false
		}
	}
	return s != ""
}

// write sends the response to a request of the given method. Its length is the
// body's own, whatever the guest said, except where a length describes a body
// that is not sent. With strict, a HEAD without either has no length, as in Spin.
func (r *response) write(w http.ResponseWriter, method string, strict bool) {
	headers := w.Header()
	for _, h := range r.headers {
		headers.Add(h.name, h.value)
	}
	connection := http.Header{"Connection": headers["Connection"]}
	for name := range headers {
		if hopByHop(name, connection) {
			headers.Del(name)
		}
	}
	if _, ok := headers["Content-Type"]; !ok {
		headers["Content-Type"] = nil // or net/http would guess one
	}
	bodiless := r.status == http.StatusNoContent || r.status == http.StatusNotModified
	switch length := headers.Get("Content-Length"); {
	case method == http.MethodHead && len(r.body) == 0 && isLength(length):
	case bodiless, strict && method == http.MethodHead && len(r.body) == 0:
		headers.Del("Content-Length")
	default:
		headers.Set("Content-Length", strconv.Itoa(len(r.body)))
	}
	w.WriteHeader(r.status)
	if method != http.MethodHead && !bodiless {
		_, _ = w.Write(r.body) // the client is gone if it fails
	}
}

func isLength(s string) bool {
	_, err := strconv.ParseUint(s, 10, 63)
	return err == nil
}

// refuse answers in the project's one form of an error.
func refuse(w http.ResponseWriter, status int, code, message string) {
	text, err := json.Marshal(message)
	if err != nil {
		text = []byte(`""`)
	}
	body := `{"message":` + string(text) + `,"statusCode":` + strconv.Itoa(status) + `,"apiErrorCode":"` + code + `"}`
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

func unavailable(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusServiceUnavailable, "UNAVAILABLE", "the service cannot answer now, try again later")
}

func (h *Host) tooLarge(w http.ResponseWriter, path string) {
	message := "the body is larger than " + strconv.FormatInt(h.options.MaxBody, 10) + " bytes"
	if h.options.LargeBodies != "" {
		message += "; send it to " + strings.TrimSuffix(h.options.LargeBodies, "/") + path
	}
	refuse(w, http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE", message)
}
