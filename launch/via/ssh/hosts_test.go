package ssh

import (
	"reflect"
	"strings"
	"testing"

	"gomx/kvstore/wire"
)

func TestParseHosts(t *testing.T) {
	_, err := ParseHosts(strings.NewReader("# a cluster\nnode1 slots=4\n\nnode2\n:x\n"))
	want := []Host{{Name: "node1", Slots: 4}, {Name: "me@node2", Slots: 2, Address: "10.0.0.2"},
		{Name: "node3", Slots: 1, Interface: "ib0"}}
	if err == nil || !strings.Contains(err.Error(), "line 5") {
		t.Errorf("a host that begins with a colon: got %v, want an error of line 5", err)
	}
	got, err := ParseHosts(strings.NewReader("node1 slots=4\n" +
		"me@node2 slots=2 address=10.0.0.2 # slow\nnode3 interface=ib0\n"))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for i, address := range []string{"node1", "10.0.0.2", "node3"} {
		if a := got[i].address(); a != address {
			t.Errorf("address of %s: got %s, want %s", got[i].Name, a, address)
		}
	}
	for _, bad := range []string{"", "# nothing", "-oProxyCommand=x", "node slots=x", "node slots",
		"node address=", "node interface=-x", "node $(x)", "node room=3", "a;b"} {
		if got, err := ParseHosts(strings.NewReader(bad)); err == nil {
			t.Errorf("%q: got %+v, want an error", bad, got)
		}
	}
}

func TestPlace(t *testing.T) {
	hosts := []Host{{Name: "a", Slots: 2}, {Name: "b", Slots: 0}, {Name: "c", Slots: 3}}
	p, err := place(hosts, 4, 5)
	if err != nil {
		t.Fatal(err)
	}
	for node, want := range map[wire.Node]int{{Role: wire.Scheduler}: 0,
		{Role: wire.Worker, Rank: 1}: 0, {Role: wire.Worker, Rank: 2}: 2,
		{Role: wire.Worker, Rank: 3}: 2, {Role: wire.Server, Rank: 1}: 1,
		{Role: wire.Server, Rank: 3}: 0, {Role: wire.Server, Rank: 4}: 1} {
		if got := p.host(node); got != want {
			t.Errorf("%s: got host %d, want %d", node, got, want)
		}
	}
	if p.share(0) != 2 || p.share(1) != 0 || p.share(2) != 2 {
		t.Errorf("workers of the hosts: got %d, %d, %d, want 2, 0, 2", p.share(0), p.share(1),
			p.share(2))
	}
	if _, err := place(hosts, 6, 1); err == nil || !strings.Contains(err.Error(), "5 slots") {
		t.Errorf("six workers: got %v, want an error with the number of slots", err)
	}
}
