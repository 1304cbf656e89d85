package auth

import (
	"strings"
	"testing"
)

func TestClient(t *testing.T) {
	const proxies = "10.0.0.0/8, 2001:db8:1::/48,192.0.2.7"
	for _, row := range []struct{ name, peer, forwarded, want string }{
		{"no proxy", "203.0.113.9:5555", "", "203.0.113.9"},
		{"an untrusted peer sends another address", "203.0.113.9:5555", "198.51.100.1", "203.0.113.9"},
		{"a proxy sends the client's address", "10.0.0.1:80", "203.0.113.9", "203.0.113.9"},
		{"a proxy of one address", "192.0.2.7:80", "203.0.113.9", "203.0.113.9"},
		{"the next address is not a proxy", "192.0.2.8:80", "203.0.113.9", "192.0.2.8"},
		{"a forged address is left of that which the proxy added", "10.0.0.1:80", "198.51.100.1, 203.0.113.9", "203.0.113.9"},
		{"a chain of proxies", "10.0.0.1:80", "198.51.100.1, 203.0.113.9, 10.2.2.2,10.3.3.3", "203.0.113.9"},
		{"only proxies", "10.0.0.1:80", "10.2.2.2, 10.3.3.3", "10.2.2.2"},
		{"a proxy without the header", "10.0.0.1:80", "", "10.0.0.1"},
		{"with a port", "10.0.0.1:80", "203.0.113.9:4711", "203.0.113.9"},
		{"IPv6", "[2001:db8:1::1]:80", "2001:db8:2::5", "2001:db8:2::5"},
		{"IPv6 with a port", "[2001:db8:1::1]:80", "[2001:db8:2::5]:4711", "2001:db8:2::5"},
		{"IPv6 in brackets", "10.0.0.1:80", "[::1]", "::1"},
		{"IPv4 in the form of IPv6", "[::ffff:10.0.0.1]:80", "::ffff:203.0.113.9", "203.0.113.9"},
		{"a zone", "10.0.0.1:80", "fe80::1%eth0", "fe80::1"},
		{"not an address", "10.0.0.1:80", "203.0.113.9, unknown", "10.0.0.1"},
		{"an empty element", "10.0.0.1:80", "203.0.113.9,", "10.0.0.1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			trusted, err := ParseNetworks("trusted-proxies", proxies)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := Client(row.peer, row.forwarded, trusted); !ok || got.String() != row.want {
				t.Errorf("Client(%q, %q) = %v, %v; want %s", row.peer, row.forwarded, got, ok, row.want)
			}
		})
	}
	if got, ok := Client("", "203.0.113.9", nil); ok {
		t.Errorf("Client without a peer = %v", got)
	}
}

func TestParseNetworks(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " , ": "", "10.1.2.3/8": "10.0.0.0/8", "::1": "::1/128", "127.0.0.1 10.0.0.0/8": "127.0.0.1/32,10.0.0.0/8",
	} {
		got, err := ParseNetworks("trusted-proxies", text)
		if err != nil || got.String() != want {
			t.Errorf("ParseNetworks(%q) = %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"true", "10.0.0.0/33", "proxy.example", "10.0.0.1:80", "fe80::1%eth0", "::ffff:10.0.0.0/104"} {
		if _, err := ParseNetworks("trusted-proxies", text); err == nil || !strings.Contains(err.Error(), "trusted-proxies") {
			t.Errorf("ParseNetworks(%q): %v; want an error with the name of the setting", text, err)
		}
	}
}
