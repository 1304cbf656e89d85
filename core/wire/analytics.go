package wire

import "kith/core/analytics"

// Analytics returns the response to GET /analytics: {count, totalCount, analytics}.
// total is the number of counts on all pages.
func Analytics(page []analytics.Count, total int) []byte {
	w := writer{}
	w.open()
	w.number("count", int64(len(page)))
	w.number("totalCount", int64(total))
	w.key("analytics")
	w.b = list(w.b, len(page), func(b []byte, i int) []byte { return appendCount(b, page[i]) })
	w.close()
	return w.b
}

func appendCount(b []byte, c analytics.Count) []byte {
	w := writer{b: b}
	w.open()
	w.text("kind", string(c.Kind))
	w.number("day", int64(c.Day))
	w.textOrNull("accountId", string(c.Account))
	w.textOrNull("userId", string(c.User))
	w.textOrNull("programId", string(c.Program))
	w.textOrNull("code", string(c.Code))
	w.textOrNull("engagementMedium", string(c.EngagementMedium))
	w.textOrNull("shareMedium", string(c.ShareMedium))
	w.number("times", c.Times)
	w.close()
	return w.b
}

// Empty returns the body of a response without content, for clients that parse every
// body.
func Empty() []byte { return []byte("{}") }
