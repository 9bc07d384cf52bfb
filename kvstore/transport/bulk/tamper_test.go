package bulk_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"strings"
	"testing"

	"gomx/internal/transporttest"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/bulk"
	"gomx/kvstore/wire"
)

// duel is a server, two workers, and an attacker in front of the server for each of them.
type duel struct {
	open    transporttest.Opener
	server  *transporttest.Node
	workers [2]*transporttest.Node
	on      [2]*transporttest.Attacker
	sent    [2]uint64
}

func newDuel(t *testing.T, o bulk.Options) *duel {
	d := &duel{open: overMemory(o)}
	d.server = transporttest.Start(t, d.open, transport.Config{Self: transporttest.Server(0)}, nil)
	_, lines, _ := strings.Cut(d.server.Addr(), ";")
	for i := range d.workers {
		d.on[i] = transporttest.NewAttacker(t, lines)
		between := func(t testing.TB, cfg transport.Config) transport.Endpoint {
			return transporttest.Through{Endpoint: d.open(t, cfg), Attacker: d.on[i]}
		}
		d.workers[i] = transporttest.Start(t, between,
			transport.Config{Self: transporttest.Worker(i)}, nil)
		if err := d.workers[i].Connect(d.server.Self, d.server.Addr()); err != nil {
			t.Fatal(err)
		}
		d.push(t, i)
	}
	return d
}

// push sends a message of a worker and waits until it has arrived.
func (d *duel) push(t *testing.T, i int) {
	t.Helper()
	d.sent[i]++
	n := len(d.server.Received())
	d.workers[i].Push(d.server.Self, d.sent[i], transporttest.Pattern(100, d.sent[i]))
	d.server.Wait(n + 1)
}

// counts are the numbers of attacks and breaks that the server has noticed.
func (d *duel) counts() (forged, truncated uint64) {
	s := d.server.Stats()
	return s.Forged, s.Truncated
}

// TestForgeries changes the bytes on their way to a server in every way that an attacker without
// keys has. None leads to a message that the worker has not sent, or to one twice or out of order;
// each is counted; and the worker's next messages arrive.
func TestForgeries(t *testing.T) {
	flip := func(at int) func(*duel) {
		return func(d *duel) {
			d.once(func(r []byte) [][]byte {
				r[(at+len(r))%len(r)] ^= 1
				return [][]byte{r}
			})
		}
	}
	for _, c := range []struct {
		name      string
		truncated bool // counted as such: the server cannot tell it from a break
		attack    func(d *duel)
		sends     bool // the attack changes the next message; otherwise it adds bytes
	}{
		{"flipped bit of the payload", false, flip(60), true},
		{"flipped bit of the message's header", false, flip(5 + 8), true},
		{"flipped bit of the record's type", false, flip(0), true},
		{"flipped bit of the record's version", false, flip(2), true},
		{"flipped bit of the record's seal", false, flip(-1), true},
		{"longer record", false, func(d *duel) {
			d.once(func(r []byte) [][]byte {
				binary.BigEndian.PutUint16(r[3:], uint16(len(r)-5+1))
				return [][]byte{append(r, 0)}
			})
		}, true},
		{"shorter record", false, func(d *duel) {
			d.once(func(r []byte) [][]byte {
				r = r[:len(r)-1]
				binary.BigEndian.PutUint16(r[3:], uint16(len(r)-5))
				return [][]byte{r}
			})
		}, true},
		{"replay", false, func(d *duel) { d.on[0].Inject(d.on[0].Last(true)) }, false},
		{"other direction", false, func(d *duel) { d.on[0].Inject(d.on[0].Last(false)) }, false},
		{"another rank's record", false, func(d *duel) { d.on[0].Inject(d.on[1].Last(true)) },
			false},
		{"made up record", false, func(d *duel) {
			r := make([]byte, 100)
			copy(r, []byte{transporttest.ApplicationData, 3, 3, 0, 95})
			d.on[0].Inject(r)
		}, false},
		{"plain text", false, func(d *duel) {
			d.on[0].Inject([]byte("GET / HTTP/1.1\r\n\r\n"))
		}, false},
		{"goodbye without a key", false, func(d *duel) {
			d.on[0].Inject([]byte{21, 3, 3, 0, 2, 1, 0})
		}, false},
		{"truncation between records", true, func(d *duel) { d.on[0].Inject(nil) }, false},
		{"truncation inside a record", true, func(d *duel) {
			d.on[0].Inject(d.on[0].Last(true)[:30])
			d.on[0].Inject(nil)
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDuel(t, bulk.Options{})
			if err := d.server.Send(d.workers[0].Self, d.server.Message(wire.TypeValue, 1,
				make([]byte, 95)), nil); err != nil { // a record for "other direction"
				t.Fatal(err)
			}
			d.workers[0].Wait(1)
			forged, truncated := d.counts()
			c.attack(d)
			if c.sends {
				d.sent[0]++
				d.workers[0].Push(d.server.Self, d.sent[0], transporttest.Pattern(100, d.sent[0]))
			}
			transporttest.Eventually(t, "the count of the attack", func() bool {
				f, n := d.counts()
				return c.truncated && n > truncated || !c.truncated && f > forged
			})
			d.on[0].Tamper(nil)
			transporttest.Eventually(t, "the worker to get through again", func() bool {
				d.sent[0]++
				d.workers[0].Push(d.server.Self, d.sent[0], transporttest.Pattern(100, d.sent[0]))
				got := d.server.Received()
				last := got[len(got)-1]
				return last.From == d.workers[0].Self && last.Seq > 2
			})
			d.check(t)
		})
	}
}

// once changes the next record on its way to the server, and passes on the following ones.
func (d *duel) once(f func(r []byte) [][]byte) {
	done := false
	d.on[0].Tamper(func(up bool, r []byte) [][]byte {
		if !up || done {
			return [][]byte{r}
		}
		done = true
		return f(r)
	})
}

// check wants every message that the server got to be one that its sender has sent, in order.
func (d *duel) check(t *testing.T) {
	t.Helper()
	last := map[wire.Node]uint64{}
	for _, m := range d.server.Received() {
		if m.Seq <= last[m.From] {
			t.Errorf("message %d of %s after %d", m.Seq, m.From, last[m.From])
		}
		last[m.From] = m.Seq
		if m.Seq > d.sent[m.From.Rank] || !bytes.Equal(m.Payload,
			transporttest.Pattern(100, m.Seq)) {
			t.Errorf("%s: the worker has not sent this", &m)
		}
	}
}

// TestReordering swaps two records, and leaves one out.
func TestReordering(t *testing.T) {
	for _, c := range []struct {
		name string
		keep []int
	}{{"swapped", []int{1, 0}}, {"left out", []int{1}}, {"twice", []int{0, 0, 1}}} {
		t.Run(c.name, func(t *testing.T) {
			d := newDuel(t, bulk.Options{})
			forged, _ := d.counts()
			var held [][]byte
			d.on[0].Tamper(func(up bool, r []byte) (out [][]byte) {
				if !up || len(held) == 2 {
					return [][]byte{r}
				}
				if held = append(held, r); len(held) == 2 {
					for _, i := range c.keep {
						out = append(out, held[i])
					}
				}
				return out
			})
			long := transporttest.Pattern(100_000, 7) // several records
			m := d.workers[0].Message(wire.TypePush, 99, long)
			if err := d.workers[0].Send(d.server.Self, m, nil); err != nil {
				t.Fatal(err)
			}
			transporttest.Eventually(t, "the count of the attack", func() bool {
				f, _ := d.counts()
				return f > forged
			})
			d.check(t)
		})
	}
}

// TestOldKeys injects records of a line that has given way to another one.
func TestOldKeys(t *testing.T) {
	d := newDuel(t, bulk.Options{Rekey: 4000})
	old := d.on[0].Last(true)
	for range 100 {
		d.push(t, 0)
	}
	if lines := d.on[0].Lines(); lines < 3 {
		t.Fatalf("%d lines after 20 KB, want a new one every 4 KB", lines)
	}
	forged, truncated := d.counts()
	if truncated > 0 {
		t.Errorf("%d lines broke, want goodbyes", truncated)
	}
	d.on[0].Inject(old)
	transporttest.Eventually(t, "the count of the attack", func() bool {
		f, _ := d.counts()
		return f > forged
	})
	d.check(t)
}

// TestOldLine passes a whole recorded line to the server again.
func TestOldLine(t *testing.T) {
	d := newDuel(t, bulk.Options{})
	recorded := d.on[0].Recorded()
	before, n := d.server.Stats().Unknown, len(d.server.Received())
	_, lines, _ := strings.Cut(d.server.Addr(), ";")
	c, err := net.Dial("tcp", lines)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(recorded); err != nil {
		t.Fatal(err)
	}
	transporttest.Eventually(t, "the count of the handshake", func() bool {
		return d.server.Stats().Unknown > before
	})
	if got := len(d.server.Received()); got != n {
		t.Errorf("%d messages came of the recorded line", got-n)
	}
}
