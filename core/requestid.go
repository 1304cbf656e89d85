package core

// RequestIDHeader carries the id of a request: to us, from edge to backend, and in
// the answer.
const RequestIDHeader = "x-request-id"

// ValidRequestID reports whether a caller's id of a request is kept: 1 to 64
// letters, digits, "-", "_" and ".".
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
