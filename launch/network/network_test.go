package network_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"gomx/launch/network"
)

func TestPorts(t *testing.T) {
	for text, want := range map[string]string{"": "0", "29400": "29400", "1-65535": "1-65535",
		"29400-29499": "29400-29499", "7-7": "7"} {
		if p, err := network.ParsePorts(text); err != nil || p.String() != want {
			t.Errorf("%q: got %s, %v, want %s", text, p, err, want)
		}
	}
	for _, text := range []string{"x", "0-5", "5-4", "1-65536", "1-2-3", "-"} {
		if p, err := network.ParsePorts(text); err == nil {
			t.Errorf("%q: got %s, want an error", text, p)
		}
	}
}

// TestLoopback finds the addresses of the one interface that every host has.
func TestLoopback(t *testing.T) {
	list, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list {
		if i.Flags&net.FlagLoopback == 0 {
			continue
		}
		if a, err := network.Of(i.Name, network.IPv4); err != nil || a != "127.0.0.1" {
			t.Errorf("%s: got %s, %v, want 127.0.0.1", i.Name, a, err)
		}
	}
	if a, err := network.Towards("127.0.0.1:9"); err != nil || a != "127.0.0.1" {
		t.Errorf("towards the loopback: got %s, %v", a, err)
	}
	if own, err := netip.ParseAddr(network.Own(network.IPv4)); err != nil || !network.Has(own) {
		t.Errorf("own address: got %s, %v, want an address of this host", own, err)
	}
	if _, err := network.Of("nope0", network.IPv4); err == nil ||
		!strings.Contains(err.Error(), "nope0") {
		t.Errorf("got %v, want an error that names the interface", err)
	}
}
