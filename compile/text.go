package compile

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"gomx/op"
)

// WriteText writes a program as text, for people and for golden files. The same program always
// gives the same text, and no address of this process is in it. It lists slots, steps with the
// places of their operands, segments, the plan of the memory, and the passes that changed
// something. A place is s3 for slot 3, and r0+64 for offset 64 in room 0.
func (p *Program) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	mode := "inference"
	if p.Train {
		mode = "training"
	}
	fmt.Fprintf(b, "%s: %d operators composed, %d steps, %d segments\n", mode, p.Composed,
		len(p.Steps), len(p.Segments))
	for i := range p.Slots {
		fmt.Fprintf(b, "slot %d: %s\n", i, p.Slots[i].text())
	}
	for i := range p.Segments {
		p.writeSegment(b, i)
	}
	m := &p.Memory
	fmt.Fprintf(b, "memory: %d bytes, bound %d, unshared %d, outputs %d, kept %d, %d nodes "+
		"computed again\n",
		m.Plan.Total, m.Plan.LowerBound, m.Plan.Naive, m.Outputs, m.Kept, m.Trade.Nodes)
	for i, r := range m.Rooms {
		fmt.Fprintf(b, "room %d: %v, %d bytes\n", i, r.Device, r.Bytes)
	}
	for i, buf := range m.Buffers {
		fmt.Fprintf(b, "buffer %d: %s at r%d+%d, %d bytes, nodes %d to %d\n", i, buf.Name, buf.Lane,
			m.offset(i), buf.Bytes, buf.Start, buf.End)
	}
	fmt.Fprintf(b, "hazards: %v\n", m.Plan.Hazards)
	for _, a := range p.Applied {
		if a.Changes > 0 {
			fmt.Fprintf(b, "pass %s: %d\n", a.Stage.Name, a.Changes)
		}
	}
	return b.Flush()
}

// text describes a slot in one line.
func (s *Slot) text() string {
	text := fmt.Sprintf("%s %v%v on %v", s.Name, s.Desc.DType, s.Desc.Shape, s.Device)
	if s.Learned {
		text += ", learned"
	}
	if s.Sink {
		text += ", overwritten"
	}
	return text
}

// writeSegment writes a segment and its steps: part of the program, queue, segments that it needs, and
// accesses to slots in the first line.
func (p *Program) writeSegment(w io.Writer, i int) {
	seg := &p.Segments[i]
	part := "forward"
	switch {
	case i < p.Derived:
		part = "forms"
	case i >= p.Forward:
		part = "backward"
	}
	fmt.Fprintf(w, "segment %d, %s on %v", i, part, seg.Lane.Device)
	if seg.Lane.Queue > 0 {
		fmt.Fprintf(w, " queue %d", seg.Lane.Queue)
	}
	if seg.Wide {
		fmt.Fprint(w, ", wide")
	}
	fmt.Fprintf(w, ", after %v:", seg.Needs)
	for _, u := range seg.Uses {
		fmt.Fprintf(w, " %s s%d", [...]string{Read: "reads", Overwrite: "overwrites",
			Update: "updates"}[u.Access], u.Slot)
	}
	fmt.Fprintln(w)
	for j := seg.From; j < seg.To; j++ {
		fmt.Fprintf(w, "  %s\n", p.Steps[j].text())
	}
}

// text describes a step in one line: operands with type, shape and place, results behind the arrow.
func (s *Step) text() string {
	in, out := operandTexts(s.Call.In), operandTexts(s.Call.Out)
	for _, o := range s.External {
		place(&o, in, out, fmt.Sprintf("s%d", o.Slot))
	}
	for _, o := range s.Internal {
		place(&o, in, out, fmt.Sprintf("r%d+%d", o.Room, o.Offset))
	}
	text := fmt.Sprintf("%s %s(%s) -> %s", s.Node.Name, s.Node.Op.Name, strings.Join(in, ", "),
		strings.Join(out, ", "))
	if s.Skip {
		text += ", skipped"
	}
	if s.Scratch >= 0 {
		text += fmt.Sprintf(", scratch r%d+%d", s.Room, s.Scratch)
	}
	if s.Form != nil {
		text += ", kept"
	}
	return text
}

// operandTexts describes tensors without their places. A layout is opaque, so the text says only that
// there is one.
func operandTexts(list []op.Tensor) []string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = t.DType.String() + t.Shape.String()
		if t.Layout != nil {
			out[i] += " blocked"
		}
	}
	return out
}

// place adds the place of operand o to its description, which is in one of the two lists.
func place(o *Operand, in, out []string, at string) {
	if o.Out {
		out[o.Index] += " " + at
	} else {
		in[o.Index] += " " + at
	}
}
