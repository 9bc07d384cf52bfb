package script

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gomx/kvstore/wire"
)

// Values spells values.
func Values(b []byte) string {
	var list []string
	for ; len(b) >= 4; b = b[4:] {
		v := math.Float32frombits(binary.LittleEndian.Uint32(b))
		list = append(list, strconv.FormatFloat(float64(v), 'g', -1, 32))
	}
	return "[" + strings.Join(list, " ") + "]"
}

// Spell writes a message with all of its fields that are not zero.
func Spell(m *wire.Message) string {
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
	case wire.TypeHello:
		if h, err := wire.DecodeHello(m.Payload); err == nil {
			fmt.Fprintf(&b, " %+v", h)
		}
		return b.String()
	case wire.TypeView:
		if v, err := wire.DecodeView(m.Payload); err == nil && v.Number == m.ViewNumber() {
			fmt.Fprintf(&b, " %d", v.Number)
		}
		return b.String()
	case wire.TypeHeartbeat:
		if h, err := wire.DecodeHeartbeat(m.Payload); err == nil {
			fmt.Fprintf(&b, " %+v", h)
		}
		fmt.Fprintf(&b, " view %d", m.ViewNumber())
		return b.String()
	default:
		field("seq", number(m.Seq))
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
		field("", Values(m.Payload))
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

// number writes a number, and the name of a worker's question as Number reads it.
func number(n uint64) string {
	if n < 1<<20 {
		return strconv.FormatUint(n, 10)
	}
	return fmt.Sprintf("%d@%d", n>>20, n&(1<<20-1))
}
