package wire_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"gomx/kvstore/wire"
)

func sample() wire.Message {
	return wire.Message{
		Type: wire.TypePush, Flags: wire.FlagRetry, Job: 1 << 60, Shard: 7, Epoch: 3,
		From:        wire.Node{Role: wire.Worker, Rank: 513},
		Incarnation: 9, Target: 8, Seq: 1 << 40, Clock: 12, Need: 11,
		KeySlice: wire.KeySlice{Key: 4, Slice: 2, Slices: 5, DType: 2, Codec: 1, Total: 4 << 20},
		Priority: -3,
		Payload:  []byte("values"),
	}
}

func TestHeaderSurvives(t *testing.T) {
	for _, flags := range []wire.Flags{0, wire.FlagPayloadCRC} {
		want := sample()
		want.Flags |= flags
		header := want.AppendHeader(nil)
		var got wire.Message
		if err := wire.Decode(header, want.Payload, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestDamageIsNoticed(t *testing.T) {
	m := sample()
	m.Flags |= wire.FlagPayloadCRC
	header := m.AppendHeader(nil)
	var got wire.Message
	for i := range header {
		bad := bytes.Clone(header)
		bad[i] ^= 0x10
		if err := wire.Decode(bad, m.Payload, &got); err == nil {
			t.Errorf("byte %d of the header changed: no error", i)
		}
	}
	for name, tt := range map[string]struct {
		header, payload []byte
		want            error
	}{
		"short header":    {header[:95], m.Payload, wire.ErrHeader},
		"long header":     {append(bytes.Clone(header), 0), m.Payload, wire.ErrHeader},
		"empty":           {nil, nil, wire.ErrHeader},
		"short payload":   {header, m.Payload[:5], wire.ErrPayload},
		"changed payload": {header, []byte("valueS"), wire.ErrPayload},
	} {
		if err := wire.Decode(tt.header, tt.payload, &got); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", name, err, tt.want)
		}
	}
	for name, change := range map[string]func(*wire.Message){
		"type":  func(m *wire.Message) { m.Type = 200 },
		"flags": func(m *wire.Message) { m.Flags = 1 << 15 },
		"role":  func(m *wire.Message) { m.From.Role = 9 },
		"slice": func(m *wire.Message) { m.Slice = 5 },
	} {
		m := sample()
		change(&m)
		if err := wire.Decode(m.AppendHeader(nil), m.Payload, &got); !errors.Is(err,
			wire.ErrMessage) {
			t.Errorf("%s: got %v, want %v", name, err, wire.ErrMessage)
		}
	}
}

func TestCodingAllocatesNothing(t *testing.T) {
	m := sample()
	buf := make([]byte, 0, wire.HeaderSize)
	var got wire.Message
	if n := testing.AllocsPerRun(100, func() {
		buf = m.AppendHeader(buf[:0])
		if err := wire.Decode(buf, m.Payload, &got); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("got %v allocations per message, want 0", n)
	}
}

func TestSlicesCoverAKeyOnce(t *testing.T) {
	for _, total := range []uint64{0, 1, 63, 64, 65, 4096, 1<<20 + 4, 100<<20 + 12} {
		for _, size := range []uint64{1, 64, 100, 4096, 1 << 20, 1 << 30} {
			n := wire.Slices(total, size)
			at := uint64(0)
			for i := range n {
				lo, hi := wire.Range(total, i, n)
				if lo != at || hi < lo || hi == lo && total != 0 || lo%64 != 0 {
					t.Fatalf("slice %d of %d of %d bytes covers %d to %d, the one before ends "+
						"at %d", i, n, total, lo, hi, at)
				}
				at = hi
			}
			if at != total {
				t.Errorf("%d slices of %d bytes end at %d", n, total, at)
			}
		}
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		wire.Node{Role: wire.Worker, Rank: 3}.String(): "worker 3",
		wire.Node{Role: wire.Scheduler}.String():       "scheduler",
		wire.Node{}.String():                           "nobody",
		wire.TypePushPull.String():                     "push and pull",
		wire.Type(99).String():                         "message type 99",
		wire.ReasonGone.String():                       "version no longer kept",
		wire.Late.String():                             "late",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

type counter int

func (c *counter) Release() { *c++ }

func TestTake(t *testing.T) {
	var released counter
	m := sample()
	m.Owner = &released
	p, o := m.Take(nil)
	if &p[0] != &m.Payload[0] || o == nil || m.Owner != nil {
		t.Errorf("an owned payload is copied or keeps its owner")
	}
	o.Release()
	if released != 1 {
		t.Errorf("released %d times, want 1", released)
	}
	q, o := m.Take(nil)
	if &q[0] == &m.Payload[0] || o != nil || !bytes.Equal(q, m.Payload) {
		t.Errorf("a payload without owner is not copied")
	}
}

func TestNodesHaveNumbers(t *testing.T) {
	for _, n := range []wire.Node{{Role: wire.Scheduler}, {Role: wire.Server, Rank: 65535},
		{Role: wire.Worker, Rank: 7}} {
		if got, ok := wire.NodeOf(n.Number()); got != n || !ok {
			t.Errorf("got %v, %v, want %v", got, ok, n)
		}
	}
	for _, number := range []uint64{0, 5, 9 << 16, 1 << 40} {
		if n, ok := wire.NodeOf(number); ok {
			t.Errorf("%#x is the number of %v", number, n)
		}
	}
}
