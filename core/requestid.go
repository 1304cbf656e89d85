package core

// RequestIDHeader is the header with the id of a request: from the caller, from edge
// to backend, and in the response.
const RequestIDHeader = "x-request-id"

// ValidRequestID reports whether a request id that a caller sent may be used: 1 to 64
// of A-Z a-z 0-9 - _ . .
func ValidRequestID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}
