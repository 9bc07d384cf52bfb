package server

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// option is the words of a script's line behind the command: values by name, and flags.
type option map[string]string

func options(words []string) option {
	o := option{}
	for i, w := range words {
		name, value, _ := strings.Cut(w, "=")
		o[name] = value
		if i == 0 {
			o["first word"] = name
		}
	}
	return o
}

func (o option) first() string        { return o["first word"] }
func (o option) has(name string) bool { _, ok := o[name]; return ok }

// number returns the number behind a name, or the name itself if it is one.
func (o option) number(name string, missing uint64) uint64 {
	v, ok := o[name]
	if !ok {
		return missing
	}
	if v == "" {
		v = name
	}
	n, err := strconv.ParseUint(v, 0, 64)
	if err != nil {
		panic(fmt.Sprintf("%s: %q is no number", name, v))
	}
	return n
}

// nodeOf reads s1, w0 or scheduler.
func nodeOf(name string) (wire.Node, bool) {
	if name == "scheduler" {
		return wire.Node{Role: wire.Scheduler}, true
	}
	if len(name) < 2 {
		return wire.Node{}, false
	}
	rank, err := strconv.Atoi(name[1:])
	role := map[byte]wire.Role{'s': wire.Server, 'w': wire.Worker, 'n': wire.NoRole}
	r, ok := role[name[0]]
	return wire.Node{Role: r, Rank: uint16(rank)}, err == nil && ok
}

// scriptFlags are the words of a line that set flags of a message.
var scriptFlags = map[string]wire.Flags{"create": wire.FlagCreate, "direct": wire.FlagDirect,
	"rows": wire.FlagRows, "exact": wire.FlagExact, "start": wire.FlagStart, "all": wire.FlagAll}

// message makes a message of a line's words: by default one about shard 0 in its epoch, and about
// key 1, of 4 numbers.
func (st *stage) message(from wire.Node, o option) *wire.Message {
	m := &wire.Message{Shard: uint32(o.number("shard", 0)),
		Seq: o.number("seq", 0), Clock: o.number("clock", 0), Need: o.number("need", 0),
		Target: uint32(o.number("target", 0)),
		KeySlice: wire.KeySlice{Key: uint32(o.number("key", 1)), Slice: uint16(o.number("slice", 0)),
			Slices: uint16(o.number("slices", 1)), DType: uint8(o.number("dtype", 0)),
			Codec: uint8(o.number("codec", 0)), Total: o.number("total", 16)}}
	for t := range 256 {
		if name := wire.Type(t).String(); strings.ReplaceAll(name, " ", "-") == o.first() {
			m.Type = wire.Type(t)
		}
	}
	if m.Type == 0 {
		st.fail("no such message")
	}
	for name, f := range scriptFlags {
		if o.has(name) {
			m.Flags |= f
		}
	}
	if place := st.view.Member(from); place != nil {
		m.Incarnation = place.Incarnation
	}
	m.Incarnation = uint32(o.number("inc", uint64(m.Incarnation)))
	if int(m.Shard) < len(st.view.Shards) {
		m.Epoch = st.view.Shards[m.Shard].Epoch
	}
	m.Epoch = o.number("epoch", m.Epoch)
	if m.Type == wire.TypeSnapshot {
		m.Key = uint32(o.number("try", 0))
	}
	m.Payload = payload(o)
	return m
}

// payload makes the payload of a message: v are numbers, rows4 are numbers of rows, text and zeros
// speak for themselves, spec is the version of an optimizer, step the rows of a step, and by the
// contributors of a log entry in front of all that.
func payload(o option) (b []byte) {
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
	b = append(b, floats(floatsOf(o["v"])...)...)
	for _, n := range floatsOf(o["rows4"]) {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	if o.has("spec") {
		b = (&wire.Spec{Version: o.number("spec", 0), Name: "sgd"}).Append(b)
	}
	for group := range strings.SplitSeq(o["step"], ";") {
		if group == "" {
			continue
		}
		// key/block:rows:numbers
		at := strings.Split(group, ":")
		var key uint32
		var block uint16
		if _, err := fmt.Sscanf(at[0], "%d/%d", &key, &block); err != nil {
			panic(err)
		}
		rows, deltas := floatsOf(at[1]), floatsOf(at[2])
		b = wire.AppendRows(b, key, block, len(rows), 4*len(deltas)/len(rows))
		for _, n := range rows {
			b = binary.LittleEndian.AppendUint32(b, uint32(n))
		}
		b = wire.Pad8(append(wire.Pad8(b), floats(deltas...)...))
	}
	return append(append(b, o["text"]...), make([]byte, o.number("zeros", 0))...)
}

func floatsOf(list string) (out []float32) {
	for text := range strings.SplitSeq(list, ",") {
		if text == "" {
			continue
		}
		v, err := strconv.ParseFloat(text, 32)
		if err != nil {
			panic(err)
		}
		out = append(out, float32(v))
	}
	return out
}

// numbers spells values.
func numbers(b []byte) string {
	var list []string
	for ; len(b) >= 4; b = b[4:] {
		v := math.Float32frombits(binary.LittleEndian.Uint32(b))
		list = append(list, strconv.FormatFloat(float64(v), 'g', -1, 32))
	}
	return "[" + strings.Join(list, " ") + "]"
}

// spell writes a message with all of its fields that are not zero.
func spell(m *wire.Message) string {
	var b strings.Builder
	b.WriteString(m.Type.String())
	field := func(name string, v any) {
		if text := fmt.Sprint(v); text != "0" && text != "" {
			fmt.Fprintf(&b, " %s %s", name, text)
		}
	}
	if m.Type >= wire.TypeInit || m.Epoch > 0 || m.Shard > 0 {
		fmt.Fprintf(&b, " shard %d", m.Shard)
	}
	field("epoch", m.Epoch)
	field("from", m.Incarnation)
	field("target", m.Target)
	if m.Slices > 0 {
		fmt.Fprintf(&b, " key %d/%d of %d", m.Key, m.Slice, m.Slices)
	} else {
		field("key", m.Key)
	}
	switch m.Type {
	case wire.TypeAck:
		fmt.Fprintf(&b, " %+v", m.Receipt())
		acks, err := wire.DecodeAcks(m.Payload)
		for i := range acks.Len() {
			seq, outcome := acks.At(i)
			fmt.Fprintf(&b, ", push %d %s", seq, outcome)
		}
		if err != nil {
			field("error", err)
		}
		return b.String()
	case wire.TypeValue:
		fmt.Fprintf(&b, " %+v", m.Answer())
	case wire.TypeReject:
		fmt.Fprintf(&b, " %+v", m.Refusal())
	case wire.TypeWaiting:
		fmt.Fprintf(&b, " %+v", m.Wait())
	case wire.TypeReplicated:
		r := m.LogReceipt()
		fmt.Fprintf(&b, " index %d check %d %#x", r.Index, r.CheckAt, r.Checksum)
		return b.String()
	case wire.TypeReplicate:
		at := m.LogPlace()
		fmt.Fprintf(&b, " index %d clock %d kind %d", at.Index, at.Clock, at.Kind)
		spellEntry(&b, m.Payload)
	case wire.TypeCursor:
		if c, err := wire.DecodeCursor(m.Payload); err == nil {
			fmt.Fprintf(&b, " %+v", c)
		}
		field("seq", m.Seq)
		field("flags", uint16(m.Flags))
		return b.String()
	case wire.TypeSnapshotDone:
		fmt.Fprintf(&b, " %+v", m.SnapshotResult())
	case wire.TypeHeartbeat:
		if h, err := wire.DecodeHeartbeat(m.Payload); err == nil {
			fmt.Fprintf(&b, " %+v view %d", h, m.ViewNumber())
		}
		return b.String()
	default:
		field("seq", m.Seq)
		field("clock", m.Clock)
		field("need", m.Need)
	}
	field("flags", uint16(m.Flags))
	field("type", m.DType)
	field("codec", m.Codec)
	field("total", m.Total)
	switch {
	case m.Type == wire.TypeReplicate:
	case m.Type == wire.TypeValue:
		field("", numbers(m.Payload))
	case len(m.Payload) > 0:
		fmt.Fprintf(&b, " %q", m.Payload)
	}
	return b.String()
}

// spellEntry writes the body of a log entry.
func spellEntry(b *strings.Builder, body []byte) {
	e, err := wire.DecodeEntry(body)
	if err != nil {
		fmt.Fprintf(b, " %v", err)
		return
	}
	for i := range e.Len() {
		c := e.At(i)
		fmt.Fprintf(b, ", worker %d/%d push %d %s", c.Rank, c.Incarnation, c.Seq, c.Outcome)
	}
	if n := len(e.Payload); n > 0 && n <= 32 {
		b.WriteString(", " + hex.EncodeToString(e.Payload))
	} else if n > 0 {
		fmt.Fprintf(b, ", %d bytes with checksum %#x", n, wire.Checksum(e.Payload))
	}
}

// spread is an arithmetic with an encoding: one number that stands for all.
type spread struct{ ps.Plain }

func (s spread) Check(b []byte, n int, t dtype.Type, codec uint8) error {
	if codec == 1 {
		return s.Plain.Check(b, 4, t, 0)
	}
	return s.Plain.Check(b, n, t, codec)
}

func (s spread) plain(n int, b []byte, codec uint8) (out []byte) {
	if codec == 0 {
		return b
	}
	for len(out) < n {
		out = append(out, b...)
	}
	return out
}

func (s spread) Store(dst, b []byte, t dtype.Type, codec uint8) {
	s.Plain.Store(dst, s.plain(len(dst), b, codec), t, 0)
}

func (s spread) Add(dst, b []byte, t dtype.Type, codec uint8) {
	s.Plain.Add(dst, s.plain(len(dst), b, codec), t, 0)
}

// steps is an optimizer whose values show all that it was told: a step adds the gradient, and
// version, contributors, workers and steps so far to the four numbers.
type steps struct {
	active bool
	count  map[ps.ID]uint64
}

func (u *steps) SetSpec(wire.Spec) error { u.active = true; return nil }
func (u *steps) Active() bool            { return u.active }

func (u *steps) Update(x Update) {
	u.count[x.ID]++
	copy(x.Dst, x.Value)
	ps.Plain{}.Add(x.Dst, x.Grad, x.DType, 0)
	ps.Plain{}.Add(x.Dst, floats(float32(x.Version)*1000, float32(x.Contributors)*1000,
		float32(x.Count)*1000, float32(u.count[x.ID])*1000), x.DType, 0)
}

func (u *steps) AppendState(dst []byte, id ps.ID) []byte {
	return binary.LittleEndian.AppendUint64(dst, u.count[id])
}

func (u *steps) SetState(id ps.ID, state []byte) error {
	if len(state) != 8 {
		return fmt.Errorf("%w: %d bytes of an optimizer", errState, len(state))
	}
	u.count[id] = binary.LittleEndian.Uint64(state)
	return nil
}
