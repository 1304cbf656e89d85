package wire

import "testing"

// An unpaired surrogate is refused at any position.
func TestLoneSurrogate(t *testing.T) {
	for body, ok := range map[string]bool{
		`{"query":"\ud83d\ude00"}`:                     true,
		`{"query":"\uD83D\uDE00\uD83D\uDE00"}`:         true,
		`{"query":"😀 \u00e4 \\ud83d"}`:                 true,
		`{"query":"\\\ud83d\ude00"}`:                   true,
		`{"query":"\ud83d"}`:                           false,
		`{"query":"\ud83d\\ude00"}`:                    false,
		`{"query":"\ude00"}`:                           false,
		`{"query":"\ude00\ud83d"}`:                     false,
		`{"query":"\ud83d\ud83d\ude00"}`:               false,
		`{"query":"\uD83Dx\uDE00"}`:                    false,
		`{"query":"\\\uDfFf"}`:                         false,
		`{"query":"{a}","variables":{"a":["\ud800"]}}`: false,
		`{"query":"{a}","variables":{"\udc00":1}}`:     false,
	} {
		if err := checkObject([]byte(body), MaxBody); (err == nil) != ok {
			t.Errorf("%s: %v", body, err)
		}
		if _, err := ParseGraphQL([]byte(body)); (err == nil) != ok {
			t.Errorf("%s: %v", body, err)
		}
	}
}
