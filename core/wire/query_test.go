package wire

import "testing"

func TestCheckQuery(t *testing.T) {
	for _, query := range []string{"", "&", "a", "a=1&b=1", "a=%26&b=a%3Bb", "fields=id&fields=email", "extraFields=a&extraFields=b", "a=b=c", "a=+&b=%20"} {
		if err := CheckQuery(query); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
	for query, want := range map[string]string{
		"limit=1&limit=2":    "limit: is given twice in the query; give it once",
		"limit=1&b&limit=1":  "limit: is given twice in the query; give it once",
		"limit=1&%6Cimit=1":  "limit: is given twice in the query; give it once",
		"limit=1;offset=2":   "the query has a semicolon; separate parameters by an ampersand, and write %3B for one in a value",
		"limit=%zz":          "the query is not percent-encoded; write %25 for a percent sign",
		"%=1":                "the query is not percent-encoded; write %25 for a percent sign",
		"a=1&a;b=2&limit=10": "the query has a semicolon; separate parameters by an ampersand, and write %3B for one in a value",
	} {
		if err := CheckQuery(query); err == nil || err.Error() != want {
			t.Errorf("%s: %v", query, err)
		}
	}
}
