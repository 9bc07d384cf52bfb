//go:build linux

package shm

import (
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"time"

	"gomx/kvstore/transport"
	"gomx/kvstore/transport/mem"
	"gomx/kvstore/wire"

	"golang.org/x/sys/unix"
)

// victim is an endpoint that counts what its handler gets.
func victim(t *testing.T) (*endpoint, *mem.Network, chan wire.Message) {
	t.Helper()
	n := mem.NewNetwork(1)
	got := make(chan wire.Message, 100)
	ep, err := Open(transport.Config{Self: wire.Node{Role: wire.Server}, Incarnation: 1,
		Handler: func(_ wire.Node, m *wire.Message) { got <- *m }},
		Options{Base: func(cfg transport.Config) (transport.Endpoint, error) {
			return mem.Open(n, cfg)
		}, Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ep.Close() })
	return ep.(*endpoint), n, got
}

// memfd makes memory with chosen seals.
func memfd(t *testing.T, size int64, seals int) int {
	t.Helper()
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Ftruncate(fd, size); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		t.Fatal(err)
	}
	return fd
}

const goodSize = markPage + 4*placeSize

func note(what byte, size uint64) []byte {
	b := make([]byte, noteSize)
	b[0] = what
	copy(b[1:], "0123456789abcdef")
	binary.LittleEndian.PutUint64(b[17:], size)
	return b
}

func TestSegmentsAreCheckedBeforeTheyAreMapped(t *testing.T) {
	file, err := unix.Open(t.TempDir(), unix.O_TMPFILE|unix.O_RDWR, 0o600)
	if err != nil {
		t.Skip("no unnamed files here:", err)
	}
	defer unix.Close(file)
	if err := unix.Ftruncate(file, goodSize); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		fd   int
		size uint64
		want string
	}{
		{"can shrink", memfd(t, goodSize, unix.F_SEAL_GROW|unix.F_SEAL_SEAL), goodSize, "seals"},
		{"can grow", memfd(t, goodSize, unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL), goodSize, "seals"},
		{"seals can be added", memfd(t, goodSize, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW), goodSize,
			"seals"},
		{"shorter than announced", memfd(t, goodSize-placeSize, seals), goodSize, "announced"},
		{"a file", file, goodSize, "segment"},
		{"tiny", memfd(t, 100, seals), 100, "places"},
		{"no whole places", memfd(t, goodSize+1, seals), goodSize + 1, "places"},
		{"enormous", memfd(t, goodSize, seals), 1 << 60, "places"},
	} {
		if m, err := openSegment(c.fd, c.size); err == nil {
			m.drop()
			t.Errorf("%s: mapped", c.name)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error about %s", c.name, err, c.want)
		}
	}
	m, err := openSegment(memfd(t, goodSize, seals), goodSize)
	if err != nil {
		t.Fatal(err)
	}
	m.drop()
}

func TestLinesOfHostilePeersEnd(t *testing.T) {
	e, _, _ := victim(t)
	good := memfd(t, goodSize, seals)
	for name, say := range map[string]func(c *net.UnixConn){
		"short note":      func(c *net.UnixConn) { c.Write([]byte("O")) },
		"long note":       func(c *net.UnixConn) { c.Write(make([]byte, 500)) },
		"unknown note":    func(c *net.UnixConn) { c.Write(note('X', 0)) },
		"offer of naught": func(c *net.UnixConn) { c.Write(note(offer, goodSize)) },
		"two at once": func(c *net.UnixConn) {
			c.WriteMsgUnix(note(offer, goodSize), unix.UnixRights(good, good), nil)
		},
		"unasked accept": func(c *net.UnixConn) { c.Write(note(accept, 0)) },
		"accept with fd": func(c *net.UnixConn) {
			c.WriteMsgUnix(note(accept, 0), unix.UnixRights(good), nil)
		},
		"unsealed": func(c *net.UnixConn) {
			c.WriteMsgUnix(note(offer, goodSize),
				unix.UnixRights(memfd(t, goodSize, unix.F_SEAL_GROW)), nil)
		},
		"region that others write": func(c *net.UnixConn) {
			c.WriteMsgUnix(note(share, goodSize), unix.UnixRights(good), nil)
		},
		"region of naught":   func(c *net.UnixConn) { c.Write(note(share, goodSize)) },
		"unknown withdrawal": func(c *net.UnixConn) { c.Write(note(withdraw, 0)) },
		"region of half pages": func(c *net.UnixConn) {
			c.WriteMsgUnix(note(share, 2*pageSize+1),
				unix.UnixRights(memfd(t, 2*pageSize+1, regionSeals)), nil)
		},
		"second offer": func(c *net.UnixConn) {
			for range 2 {
				c.WriteMsgUnix(note(offer, goodSize), unix.UnixRights(good), nil)
			}
		},
	} {
		c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: e.name, Net: "unixpacket"})
		if err != nil {
			t.Fatal(err)
		}
		say(c)
		c.SetReadDeadline(time.Now().Add(10 * time.Second))
		for err == nil {
			var n int
			if n, err = c.Read(make([]byte, 100)); n == 0 && err == nil {
				break
			}
		}
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			t.Errorf("%s: the line still stands", name)
		}
		c.Close()
	}
	if got := e.Stats().Garbage; got < 12 {
		t.Errorf("%d hostile peers counted, want 12 or more", got)
	}
}

func TestTokensBelongToTheNodeThatUsedThemFirst(t *testing.T) {
	e, n, got := victim(t)
	peer := func(rank uint16) transport.Endpoint {
		cfg := transport.Config{Self: wire.Node{Role: wire.Worker, Rank: rank}, Incarnation: 1,
			Handler: func(wire.Node, *wire.Message) {}}
		ep, err := mem.Open(n, cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ep.Close() })
		base, _ := splitAddress(e.Addr())
		if err := ep.Connect(wire.Node{Role: wire.Server}, base); err != nil {
			t.Fatal(err)
		}
		return ep
	}
	// A well-behaved segment, passed by hand.
	c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: e.name, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, _, err := c.WriteMsgUnix(note(offer, goodSize),
		unix.UnixRights(memfd(t, goodSize, seals)), nil); err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	answer := make([]byte, noteSize)
	if k, err := c.Read(answer); err != nil || k != noteSize || answer[0] != accept {
		t.Fatalf("answer %q, %v; want an acceptance", answer, err)
	}
	var tok token
	copy(tok[:], "0123456789abcdef")
	send := func(ep transport.Endpoint, rank uint16, d descriptor) {
		var b [descriptorSize]byte
		d.put(&b)
		m := wire.Message{Type: wire.TypePush, Flags: wire.FlagShared,
			From: wire.Node{Role: wire.Worker, Rank: rank}, Incarnation: 1, Seq: d.length,
			Payload: b[:]}
		if err := ep.Send(wire.Node{Role: wire.Server}, &m, nil); err != nil {
			t.Fatal(err)
		}
	}
	first, second := peer(0), peer(1)
	send(first, 0, descriptor{token: tok, round: 1, length: 100})
	if m := <-got; m.Seq != 100 || m.Flags != 0 {
		t.Errorf("got %s, want the message of 100 bytes", &m)
	}
	for _, d := range []descriptor{
		{token: tok, first: 4, length: 1}, {token: tok, first: 3, length: placeSize + 1},
		{token: tok, length: 1 << 63},
		{token: tok, first: 1 << 31, length: 1 << 20}, {token: token{1}, length: 10},
	} {
		send(first, 0, d)
	}
	send(second, 1, descriptor{token: tok, round: 1, length: 200}) // stolen
	short := wire.Message{Type: wire.TypePush, Flags: wire.FlagShared,
		From: wire.Node{Role: wire.Worker}, Incarnation: 1, Payload: []byte("short")}
	if err := first.Send(wire.Node{Role: wire.Server}, &short, nil); err != nil {
		t.Fatal(err)
	}
	// the last place, to its end
	send(first, 0, descriptor{token: tok, first: 3, round: 1, length: placeSize})
	if m := <-got; m.Seq != placeSize {
		t.Errorf("got %s, want the message of %d bytes", &m, placeSize)
	}
	for e.Stats().Garbage < 6 {
		select {
		case m := <-got:
			t.Fatalf("the handler got %s", &m)
		case <-time.After(10 * time.Second):
			t.Fatalf("%d descriptors counted as garbage, want 7", e.Stats().Garbage)
		case <-time.After(time.Millisecond):
		}
	}
}

// TestPlacesInRegionsAreChecked takes descriptors that leave a region for garbage.
func TestPlacesInRegionsAreChecked(t *testing.T) {
	e, _, got := victim(t)
	fd := memfd(t, 3*pageSize, regionSeals)
	mem, err := openRegion(fd, 3*pageSize)
	if err != nil {
		t.Fatal(err)
	}
	from := wire.Node{Role: wire.Worker}
	e.in[token{1}] = &inbound{mem: mem, owner: from, region: true, line: &line{}}
	try := func(d descriptor) {
		d.token = token{1}
		var b [descriptorSize]byte
		d.put(&b)
		e.handle(from, &wire.Message{Type: wire.TypePush, Flags: wire.FlagShared, From: from,
			Seq: d.length, Payload: b[:]})
	}
	for _, d := range []descriptor{
		{length: 0}, {length: 2*pageSize + 1}, {first: 1, length: 2 * pageSize},
		{first: 1 << 31, length: 1}, {length: 1 << 63},
		{first: 2 * pageSize / regionUnit, length: 1},
	} {
		try(d)
	}
	if n := e.Stats().Garbage; n != 6 || len(got) != 0 {
		t.Errorf("%d descriptors are garbage, and %d were handled; want 6 and 0", n, len(got))
	}
	try(descriptor{length: 2 * pageSize})
	try(descriptor{first: (2*pageSize - regionUnit) / regionUnit, length: regionUnit})
	if len(got) != 2 {
		t.Errorf("%d payloads were handled, want 2", len(got))
	}
}

func TestPlacesAreReusedOnlyAfterTheMark(t *testing.T) {
	o, fd, err := newSegment(4)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	defer o.mem.drop()
	in := inbound{mem: o.mem}
	take := func(n int) (uint32, uint32, bool) {
		first, round, _, ok := o.acquire(n)
		return first, round, ok
	}
	a, ra, ok := take(placeSize)
	if !ok || a != 0 {
		t.Fatalf("first place %d, %t", a, ok)
	}
	b, rb, ok := take(2*placeSize + 1)
	if !ok || b != 1 {
		t.Fatalf("second payload at %d, %t; want 1", b, ok)
	}
	if _, _, ok := take(1); ok {
		t.Fatal("a place was found in a full segment")
	}
	in.done(&descriptor{first: a, round: ra - 1}) // an old mark means nothing
	if _, _, ok := take(1); ok {
		t.Fatal("an old mark freed a place")
	}
	in.done(&descriptor{first: b, round: rb})
	if _, _, ok := take(4 * placeSize); ok {
		t.Fatal("four places were found where three are free")
	}
	if c, _, ok := take(3 * placeSize); !ok || c != 1 {
		t.Fatalf("three places at %d, %t; want 1", c, ok)
	}
	o.release(1)
	if c, _, ok := take(placeSize); !ok || c != 1 {
		t.Fatalf("a place that was given back: %d, %t; want 1", c, ok)
	}
}
