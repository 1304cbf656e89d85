package link

import "testing"

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "localhost:3000": true, "127.0.0.1": true, "127.0.0.1:80": true, "[::1]": true, "[::1]:3000": true,
		"": false, "kith.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example:80": false, "[::1].evil.example": false,
		"[::2]": false, "evil.example:localhost": false,
	} {
		if Loopback(host) != want {
			t.Errorf("%q", host)
		}
	}
}

func TestOriginOf(t *testing.T) {
	for page, want := range map[string]string{
		"https://shop.example/start?utm=a#top": "https://shop.example", "http://localhost:3000/welcome": "http://localhost:3000",
		"": "", "/welcome": "", "javascript:alert(1)": "", "https://me@shop.example/": "",
	} {
		if got := OriginOf(page); got != want {
			t.Errorf("%q: %q", page, got)
		}
	}
}

func TestOpenedByPeople(t *testing.T) {
	for path, want := range map[string]bool{
		"/s/acme/ANN": true, "/s/acme": true, "/a/acme/message/redirect/EMAIL": true,
		"/s": false, "/": false, "/a/acme/widgets/x": false, "/a/message/x": false, "/a/acme/messages/x": false, "/api/v1/acme/users": false,
	} {
		if got := OpenedByPeople(path); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
	if got := Locale("a=1&locale=pt_BR"); got != "pt_BR" || Locale("locales=de") != "" {
		t.Errorf("locale %q", got)
	}
}
