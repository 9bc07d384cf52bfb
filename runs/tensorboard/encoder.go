package tensorboard

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// FileName returns the name of a file that begins at a time, as TensorBoard expects it.
func FileName(t time.Time) string {
	host, _ := os.Hostname() // the name is only for people
	return fmt.Sprintf("events.out.tfevents.%d.%s.%d.v2", t.UnixNano()/1e9, host, os.Getpid())
}

// At is the place of an event in a run.
type At struct {
	Step int64
	Time int64 // nanoseconds since 1970
}

// Encoder appends records to byte slices. It keeps buffers between calls, so that scalars and
// histograms allocate nothing. It is used by one goroutine at a time.
type Encoder struct{ event, summary, value, part []byte }

// Numbers of the fields of the messages.
const (
	eventTime, eventStep, eventVersion, eventGraph, eventSummary, eventSession = 1, 2, 3, 4, 5, 7
	summaryValue                                                               = 1
	valueTag, valueSimple, valueImage, valueHistogram                          = 1, 2, 4, 5
	sessionStatus, sessionStart                                                = 1, 1
)

// Begin appends the first record of a file.
func (e *Encoder) Begin(b []byte, t time.Time) []byte {
	e.at(At{Time: t.UnixNano()})
	e.event = protowire.AppendTag(e.event, eventVersion, protowire.BytesType)
	e.event = protowire.AppendString(e.event, "brain.Event:2")
	return e.record(b)
}

// Restart appends the record of a run that continues: TensorBoard drops the points of former files
// from this step on.
func (e *Encoder) Restart(b []byte, at At) []byte {
	e.at(at)
	e.event = protowire.AppendTag(e.event, eventSession, protowire.BytesType)
	e.event = protowire.AppendBytes(e.event, []byte{sessionStatus << 3, sessionStart})
	return e.record(b)
}

// Scalar appends a value of a curve, which TensorBoard keeps as a number of 32 bits.
func (e *Encoder) Scalar(b []byte, at At, tag string, v float64) []byte {
	e.begin(tag)
	e.value = protowire.AppendTag(e.value, valueSimple, protowire.Fixed32Type)
	e.value = protowire.AppendFixed32(e.value, math.Float32bits(float32(v)))
	return e.end(b, at)
}

// Histogram is a distribution of numbers. Limit returns the upper end of a bin.
type Histogram struct {
	Min, Max, Sum, Squares float64
	Count                  uint64
	Counts                 []uint64
	Limit                  func(i int) float64
}

// Histogram appends a histogram.
func (e *Encoder) Histogram(b []byte, at At, tag string, h *Histogram) []byte {
	e.begin(tag)
	p := e.part[:0]
	for i, v := range [...]float64{h.Min, h.Max, float64(h.Count), h.Sum, h.Squares} {
		p = appendDouble(p, protowire.Number(i+1), v)
	}
	p = protowire.AppendTag(p, 6, protowire.BytesType)
	p = protowire.AppendVarint(p, uint64(8*len(h.Counts)))
	for i := range h.Counts {
		p = protowire.AppendFixed64(p, math.Float64bits(h.Limit(i)))
	}
	p = protowire.AppendTag(p, 7, protowire.BytesType)
	p = protowire.AppendVarint(p, uint64(8*len(h.Counts)))
	for _, n := range h.Counts {
		p = protowire.AppendFixed64(p, math.Float64bits(float64(n)))
	}
	return e.message(b, at, valueHistogram, p)
}

// Picture is an image with its sizes in pixels.
type Picture struct {
	Width, Height int
	PNG           []byte
}

// Image appends a picture.
func (e *Encoder) Image(b []byte, at At, tag string, p Picture) []byte {
	const colours = 3
	e.begin(tag)
	m := e.part[:0]
	for i, v := range [...]int{p.Height, p.Width, colours} {
		m = appendInt(m, protowire.Number(i+1), int64(v))
	}
	m = protowire.AppendTag(m, 4, protowire.BytesType)
	m = protowire.AppendBytes(m, p.PNG)
	return e.message(b, at, valueImage, m)
}

// Node is one node of a graph. In has the names of its inputs.
type Node struct {
	Name, Op string
	In       []string
	Shape    []int // of the result; nil: unknown
}

// Graph appends the graph of a network, a message GraphDef.
func (e *Encoder) Graph(b []byte, t time.Time, nodes []Node) []byte {
	var g []byte
	for _, n := range nodes {
		var m []byte
		m = appendText(appendText(m, 1, n.Name), 2, n.Op)
		for _, in := range n.In {
			m = appendText(m, 3, in)
		}
		if n.Shape != nil {
			m = protowire.AppendTag(m, 5, protowire.BytesType)
			m = protowire.AppendBytes(m, shapeAttribute(n.Shape))
		}
		g = protowire.AppendTag(g, 1, protowire.BytesType)
		g = protowire.AppendBytes(g, m)
	}
	const producer = 22 // a version of GraphDef that TensorBoard reads
	g = protowire.AppendTag(g, 4, protowire.BytesType)
	g = protowire.AppendBytes(g, appendInt(nil, 1, producer))
	e.at(At{Time: t.UnixNano()})
	e.event = protowire.AppendTag(e.event, eventGraph, protowire.BytesType)
	e.event = protowire.AppendBytes(e.event, g)
	return e.record(b)
}

// shapeAttribute returns the entry "_output_shapes" of a node's attributes.
func shapeAttribute(shape []int) []byte {
	var dims []byte
	for _, d := range shape {
		dims = protowire.AppendTag(dims, 2, protowire.BytesType)
		dims = protowire.AppendBytes(dims, appendInt(nil, 1, int64(d)))
	}
	wrap := func(number protowire.Number, m []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), m)
	}
	list := wrap(7, dims)  // ListValue.shape
	value := wrap(1, list) // AttrValue.list
	return append(appendText(nil, 1, "_output_shapes"), wrap(2, value)...)
}

// at begins an event.
func (e *Encoder) at(at At) {
	e.event = appendDouble(e.event[:0], eventTime, float64(at.Time)/1e9)
	if at.Step != 0 {
		e.event = appendInt(e.event, eventStep, at.Step)
	}
}

// begin begins the value of a summary.
func (e *Encoder) begin(tag string) { e.value = appendText(e.value[:0], valueTag, tag) }

// message completes a value by a message, and appends its event.
func (e *Encoder) message(b []byte, at At, field protowire.Number, m []byte) []byte {
	e.part = m
	e.value = protowire.AppendTag(e.value, field, protowire.BytesType)
	e.value = protowire.AppendBytes(e.value, m)
	return e.end(b, at)
}

// end appends the event of a value.
func (e *Encoder) end(b []byte, at At) []byte {
	e.at(at)
	e.summary = protowire.AppendTag(e.summary[:0], summaryValue, protowire.BytesType)
	e.summary = protowire.AppendBytes(e.summary, e.value)
	e.event = protowire.AppendTag(e.event, eventSummary, protowire.BytesType)
	e.event = protowire.AppendBytes(e.event, e.summary)
	return e.record(b)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// mask is TensorFlow's way to store a checksum beside the data that it is of.
func mask(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// record appends the event as a record.
func (e *Encoder) record(b []byte) []byte {
	at := len(b)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(e.event)))
	b = binary.LittleEndian.AppendUint32(b, mask(b[at:]))
	b = append(b, e.event...)
	return binary.LittleEndian.AppendUint32(b, mask(e.event))
}

func appendDouble(b []byte, field protowire.Number, v float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type),
		math.Float64bits(v))
}

func appendInt(b []byte, field protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
}

func appendText(b []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), text)
}
