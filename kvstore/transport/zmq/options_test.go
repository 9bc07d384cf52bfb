package zmq

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gomx/kvstore/wire"
)

func TestOldLibrariesAreRefused(t *testing.T) {
	for _, c := range []struct {
		major, minor, patch int
		ok                  bool
	}{{4, 3, 3, true}, {4, 3, 4, true}, {4, 4, 0, true}, {5, 0, 0, true}, {4, 3, 2, false},
		{4, 2, 9, false}, {3, 9, 9, false}} {
		err := checkVersion(c.major, c.minor, c.patch)
		if (err == nil) != c.ok {
			t.Errorf("libzmq %d.%d.%d: %v, want accepted: %t", c.major, c.minor, c.patch, err, c.ok)
		}
		if err != nil && !strings.Contains(err.Error(), "4.3.3") {
			t.Errorf("%v does not name the version that is needed", err)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		in    string
		parts int
		local bool
	}{
		{"tcp://127.0.0.1:80", 1, true}, {"tcp://127.0.0.1:0,tcp://127.0.0.1:0", 2, true},
		{"tcp://[::1]:5", 1, true},
		{"tcp://localhost:5", 1, true}, {"tcp://10.0.0.1:5", 1, false}, {"tcp://*:5", 1, false},
		{"tcp://example.com:5", 1, false}, {"tcp://10.0.0.1:5000-5999", 1, false},
		{"tcp://[fd99::1]:5000-5999", 1, false}, {"tcp://1.2.3.4:0-7", 0, false},
		{"tcp://1.2.3.4:9-7", 0, false}, {"tcp://1.2.3.4:1-70000", 0, false},
		{"ipc:///tmp/x", 1, true}, {"tcp://127.0.0.2:1,ipc:///tmp/x", 2, true},
		{"", 0, false}, {"udp://1.2.3.4:5", 0, false}, {"tcp://1.2.3.4", 0, false},
		{"tcp://1.2.3.4:70000", 0, false},
		{"tcp://h:1,tcp://h:2,tcp://h:3", 0, false}, {"ipc:///tmp/%n", 0, false},
		{"tcp://fe80::1%eth0:5", 0, false},
		{"ipc:///" + strings.Repeat("x", 200), 0, false}, {"@tcp://1.2.3.4:5", 0, false},
	} {
		a, err := parseAddresses(c.in)
		if len(a) != c.parts || (err == nil) != (c.parts > 0) {
			t.Errorf("%q: %q, %v; want %d parts", c.in, a, err, c.parts)
			continue
		}
		for _, one := range a {
			if local(one) != c.local {
				t.Errorf("%q: local %t, want %t", one, local(one), c.local)
			}
		}
	}
}

func TestZ85(t *testing.T) {
	in, err := hex.DecodeString("864fd26fb559f75b") // the example of RFC 32
	if err != nil {
		t.Fatal(err)
	}
	if got := z85(in); got != "HelloWorld" {
		t.Errorf("got %q, want HelloWorld", got)
	}
}

func TestKeyringsAreChecked(t *testing.T) {
	k := strings.Repeat("a", z85Size)
	a, b := wire.Node{Role: wire.Worker}, wire.Node{Role: wire.Worker, Rank: 1}
	for name, ring := range map[string]Keyring{
		"no key":       {Nodes: map[wire.Node]string{a: k}},
		"short secret": {Self: Key{k, "b"}},
		"short public": {Self: Key{k, k}, Nodes: map[wire.Node]string{a: "b"}},
		"shared":       {Self: Key{k, k}, Nodes: map[wire.Node]string{a: k, b: k}},
	} {
		if err := ring.check(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	good := Keyring{Self: Key{k, k}, Nodes: map[wire.Node]string{a: k, b: strings.Repeat("b",
		z85Size)}}
	if err := good.check(); err != nil {
		t.Error(err)
	}
}

func TestFoldersOfDeadProcessesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	gone := filepath.Join(dir, folderPrefix+"4194305-1") // above the largest process number
	alive := filepath.Join(dir, folderPrefix+strconv.Itoa(os.Getpid())+"-1")
	other := filepath.Join(dir, folderPrefix+"x")
	for _, d := range []string{gone, alive, other} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	sweep(dir)
	for d, want := range map[string]bool{gone: false, alive: true, other: true} {
		if _, err := os.Stat(d); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", filepath.Base(d), err == nil, want)
		}
	}
}
