package script

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
)

// flags are the words of a line that set flags of a message.
var flags = map[string]wire.Flags{"create": wire.FlagCreate, "direct": wire.FlagDirect,
	"rows": wire.FlagRows, "exact": wire.FlagExact, "start": wire.FlagStart, "all": wire.FlagAll,
	"fused": wire.FlagFused, "gap": wire.FlagGap, "probed": wire.FlagProbed,
	"sparse": wire.FlagSparse}

// Message makes a message of a line's words: by default one about shard 0 in its epoch, and about
// key 1, of 4 numbers.
func (w *World) Message(from wire.Node, o Options) *wire.Message {
	m := &wire.Message{Shard: uint32(o.Number("shard", 0)),
		Seq: o.Number("seq", 0), Clock: o.Number("clock", 0), Need: o.Number("need", 0),
		Target: uint32(o.Number("target", 0)), Priority: int8(o.Int("outcome", 0)),
		KeySlice: wire.KeySlice{Key: uint32(o.Number("key", 1)),
			Slice:  uint16(o.Number("slice", 0)),
			Slices: uint16(o.Number("slices", 1)), DType: uint8(o.Number("dtype", 0)),
			Codec: uint8(o.Number("codec", 0)), Total: o.Number("total", 16)}}
	for t := range 256 {
		if name := wire.Type(t).String(); strings.ReplaceAll(name, " ", "-") == o.First() {
			m.Type = wire.Type(t)
		}
	}
	if m.Type == 0 {
		panic("no such message")
	}
	for name, f := range flags {
		if o.Has(name) {
			m.Flags |= f
		}
	}
	if place := w.View.Member(from); place != nil {
		m.Incarnation = place.Incarnation
	}
	m.Incarnation = uint32(o.Number("inc", uint64(m.Incarnation)))
	if from.Role != wire.Scheduler && int(m.Shard) < len(w.View.Shards) {
		m.Epoch = w.View.Shards[m.Shard].Epoch
	}
	m.Epoch = o.Number("epoch", m.Epoch)
	m.Group = uint16(o.Number("group", w.View.Group.Number))
	if m.Type == wire.TypeSnapshot {
		m.Key = uint32(o.Number("try", 0))
	}
	m.Payload = Payload(o)
	return m
}

// Payload makes the payload of a message: matrix rows/columns describes a sparse key, ids are
// numbers of rows, v are numbers behind both, text and zeros speak for themselves, spec is the
// version of an optimizer, and by the contributors of a log entry in front of all that. Acks are
// outcomes of pushes, and cursor begins the answer of a shard, with entries, pushes and tables
// key/slice/slices/clock/version, and away where nobody waits for the worker yet. As is the
// nonce/rank of a hello, beat the clock/start of a heartbeat, with loose and leaves as its flags.
func Payload(o Options) (b []byte) {
	if list, ok := o["by"]; ok {
		var all []string
		if list != "" {
			all = strings.Split(list, ",")
		}
		b = make([]byte, wire.EntrySize(len(all)))
		wire.PutEntry(b, len(all))
		for i, text := range all {
			var c wire.Contributor
			if _, err := fmt.Sscanf(text, "%d/%d/%d/%d", &c.Rank, &c.Incarnation, &c.Seq,
				&c.Outcome); err != nil {
				panic(err)
			}
			wire.PutContributor(b, i, c)
		}
	}
	if o.Has("matrix") {
		var sp rows.Spec
		scan(o["matrix"], "%d/%d", &sp.Rows, &sp.Row)
		sp.Row *= 4
		b = rows.AppendSpec(b, sp)
	}
	if o.Has("ids") {
		var ids []uint32
		for _, n := range o.Numbers("ids") {
			ids = append(ids, uint32(n))
		}
		b = wire.AppendIDs(b, ids)
	}
	b = append(b, Floats(o.Numbers("v")...)...)
	if o.Has("spec") {
		b = (&wire.Spec{Version: o.Number("spec", 0), Name: "sgd"}).Append(b)
	}
	for ack := range strings.SplitSeq(o["acks"], ",") {
		var seq uint64
		var outcome wire.Outcome
		if n, _ := fmt.Sscanf(ack, "%d:%d", &seq, &outcome); n == 2 {
			b = wire.AppendAck(b, seq, outcome)
		}
	}
	if o.Has("as") {
		var h wire.Hello
		scan(o["as"], "%d/%d", &h.Nonce, &h.Rank)
		h.Addr = "here"
		b = h.Append(b)
	}
	if o.Has("beat") {
		var h wire.Heartbeat
		scan(o["beat"], "%d/%d", &h.Clock, &h.Start)
		h.Loose, h.Leaves = o.Has("loose"), o.Has("leaves")
		b = h.Append(b)
	}
	if o.Has("cursor") {
		b = cursor(o).Append(b)
	}
	return append(append(b, o["text"]...), make([]byte, o.Number("zeros", 0))...)
}

// Floats returns numbers as bytes.
func Floats(list ...float32) (b []byte) {
	for _, v := range list {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// cursor reads the entries of a cursor.
func cursor(o Options) *wire.Cursor {
	c := &wire.Cursor{Away: o.Has("away")}
	for kind, list := range map[string]string{"rounds": o["entries"], "direct": o["pushes"],
		"table": o["tables"]} {
		for text := range strings.SplitSeq(list, ",") {
			if text == "" {
				continue
			}
			e := wire.CursorEntry{Direct: kind != "rounds", Table: kind == "table"}
			scan(text, "%d/%d/%d/%d/%d", &e.Key, &e.Slice, &e.Slices, &e.Clock, &e.Version)
			c.Entries = append(c.Entries, e)
		}
	}
	return c
}

// scan reads numbers, all of which must be there.
func scan(text, format string, at ...any) {
	if _, err := fmt.Sscanf(text, format, at...); err != nil {
		panic(text + ": " + err.Error())
	}
}

// Each passes on the items of a batch, or any other message itself.
func Each(m *wire.Message, f func(m *wire.Message)) {
	if m.Type != wire.TypeBatch {
		f(m)
		return
	}
	items := m.Items()
	for item := (wire.Message{}); ; f(&item) {
		if ok, err := items.Next(&item); err != nil {
			panic(err)
		} else if !ok {
			return
		}
	}
}
