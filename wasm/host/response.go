package host

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// response is the guest's response.
type response struct {
	status  int
	headers []header
	body    []byte
}

// check returns an error for a response that HTTP does not allow.
func (r *response) check() error {
	if r.status < 200 || r.status > 599 {
		return faultf("response has status %d", r.status)
	}
	for _, h := range r.headers {
		if !httpguts.ValidHeaderFieldName(h.name) || strings.ContainsAny(h.value, "\r\n\x00") {
			return faultf("response has the header %q: %q", h.name, h.value)
		}
	}
	return nil
}

// write sends the response to a request with the given method. Content-Length is the
// length of the body, whatever the guest set, except if the body is not sent (HEAD).
func (r *response) write(w http.ResponseWriter, method string) {
	headers, given := w.Header(), http.Header{}
	for _, h := range r.headers {
		if strings.EqualFold(h.name, "Connection") {
			given.Add(h.name, h.value)
		}
	}
	values := make([]string, len(r.headers)) // one allocation for all
	for i, h := range r.headers {
		name := http.CanonicalHeaderKey(h.name)
		if hopByHop(name, given) {
			continue
		}
		if earlier, repeated := headers[name]; repeated {
			headers[name] = append(earlier, h.value)
		} else {
			values[i], headers[name] = h.value, values[i:i+1:i+1]
		}
	}
	if _, ok := headers["Content-Type"]; !ok {
		headers["Content-Type"] = nil // otherwise net/http guesses one
	}
	bodiless := r.status == http.StatusNoContent || r.status == http.StatusNotModified
	switch length := headers.Get("Content-Length"); {
	case method == http.MethodHead && len(r.body) == 0 && isLength(length):
	// A guest that answers HEAD without a body may not know the length of the answer to GET.
	case bodiless, method == http.MethodHead && len(r.body) == 0:
		headers.Del("Content-Length")
	default:
		headers.Set("Content-Length", strconv.Itoa(len(r.body)))
	}
	w.WriteHeader(r.status)
	if method != http.MethodHead && !bodiless {
		// An error means that the client has closed the connection.
		_, _ = w.Write(r.body) // #nosec G705 -- the component escapes its content
	}
}

func isLength(s string) bool {
	_, err := strconv.ParseUint(s, 10, 63)
	return err == nil
}

// refuseMethod converts the answer to OPTIONS to the answer to a method that the ABI does
// not support. An error other than 405, such as 404, is kept.
func (r *response) refuseMethod(method string) {
	if r.status >= 400 && r.status != http.StatusMethodNotAllowed {
		return
	}
	r.status = http.StatusMethodNotAllowed
	r.body = errorBody(r.status, "METHOD_NOT_ALLOWED", method+" is not allowed on this path; use a method of the Allow header")
	r.headers = slices.DeleteFunc(r.headers, func(h header) bool { return strings.EqualFold(h.name, "Content-Type") })
	r.headers = append(r.headers, header{"content-type", "application/json"})
}

// errorBody returns an error body in the form of the API.
func errorBody(status int, code, message string) []byte {
	text, err := json.Marshal(message)
	if err != nil {
		text = []byte(`""`)
	}
	return []byte(`{"message":` + string(text) + `,"statusCode":` + strconv.Itoa(status) + `,"apiErrorCode":"` + code + `"}`)
}

// refuse answers with an error. Pages of any origin may read it, since it has no data of
// users.
func refuse(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	body := errorBody(status, code, message)
	if origin := r.Header.Get("Origin"); origin != "" {
		w.Header().Set("Vary", "Origin")
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Allow-Credentials", "true")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // #nosec G705 -- JSON, with the content type of JSON
}

func unavailable(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "1")
	refuse(w, r, http.StatusServiceUnavailable, "UNAVAILABLE", "the service cannot answer now, try again later")
}

func (h *Host) tooLarge(w http.ResponseWriter, r *http.Request) {
	message := "the body is larger than " + strconv.FormatInt(h.options.NamedMaxBody, 10) + " bytes"
	if h.options.LargeBodies != "" {
		message += "; a file may be larger at " + strings.TrimSuffix(h.options.LargeBodies, "/") + r.URL.EscapedPath()
	}
	refuse(w, r, http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE", message)
}
