package memplan

import "fmt"

// defaultAlign is the alignment of offsets when [Config.Align] is zero: one
// cache line, which suits vector loads and oneDNN too.
const defaultAlign = 64

// Kind is the kind of content of a buffer. It matters to pictures only.
type Kind uint8

// The kinds of buffers.
const (
	Activation Kind = iota // a result of the forward pass
	Gradient               // a result of the backward pass
	Scratch                // working memory of one kernel
	Output                 // something that is read from outside
	Copy                   // a copy between devices or layouts
	numKinds
)

// String returns the kind's name in lower case.
func (k Kind) String() string {
	switch k {
	case Activation:
		return "activation"
	case Gradient:
		return "gradient"
	case Scratch:
		return "scratch"
	case Output:
		return "output"
	case Copy:
		return "copy"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Buffer is a run of bytes that must not move while it is alive. The caller owns its buffers;
// Compute and Verify neither change nor keep them.
type Buffer struct {
	// Bytes is the size without alignment. Zero is legal and takes no room.
	Bytes int64

	// Start is the first step that writes the buffer, End the last step that uses it, inclusive.
	// Both are positions in the list of steps; without steps any numbers from 0 on will do.
	Start int
	End   int

	Name string // for pictures and errors
	Kind Kind   // for pictures
	Lane int    // the lane whose steps write the buffer; see [Config.SeparateLanes]

	// Values are the results that live in the buffer one after another when
	// it was merged for in-place operation. For pictures only; may be nil.
	Values []Value
}

// Value is one of the results that share a buffer in place.
type Value struct {
	Name string
	Step int // the step that writes it
}

// Step is one unit of work. Its position in the list is its time. A buffer that is both in Reads
// and in Writes is updated in place; a buffer may be named several times.
type Step struct {
	Name   string // for errors
	Reads  []int  // positions of the buffers that it reads
	Writes []int  // positions of the buffers that it writes, scratch memory included
	After  []int  // earlier steps that it waits for anyway, through data or control

	// Lane, when not zero, promises that the step runs after every earlier
	// step of the same lane.
	Lane int
}

// Config adjusts [Compute]. The zero value is ready for use.
type Config struct {
	// Align is the alignment of every offset, a power of two; sizes are
	// rounded up to it. Zero means 64.
	Align int64

	// SeparateLanes forbids buffers of different lanes to share bytes.
	SeparateLanes bool

	// Rounds bounds the local improvement of the best heuristic's result.
	// Zero means 64 rounds, and more where there are few buffers; a negative
	// number none, and no search with backtracking either.
	Rounds int
}

// Plan is the result of [Compute]. It belongs to the caller and refers to nothing else. All sizes
// are in bytes, and sums are of sizes rounded up to Align.
type Plan struct {
	// Offsets has the offset of every buffer in the arena, in the order of the buffers. Buffers
	// without bytes have offset 0.
	Offsets []int64

	Total      int64 // size of the arena, a multiple of Align
	LowerBound int64 // the most bytes alive at one step: no plan is smaller
	Naive      int64 // the bytes of all buffers together: a plan without sharing
	Align      int64 // alignment of all offsets, a power of two

	// Lanes are the parts of the arena that the lanes have for themselves
	// under [Config.SeparateLanes], the lowest first and without gaps; nil
	// when lanes share. A caller with one arena for each lane, such as
	// devices with memory of their own, subtracts the part's Offset.
	Lanes []Part

	// Hazards are pairs {earlier, later}: step later overwrites bytes that
	// step earlier still uses (or reads bytes that step earlier wrote) and nothing in After
	// orders them. Sorted by later, then earlier; no pair follows from
	// After and the other pairs.
	Hazards [][2]int
}

// Part is a range of the arena that belongs to one lane, in bytes.
type Part struct {
	Lane          int
	Offset, Bytes int64
}

// String returns a summary in one line.
func (p *Plan) String() string {
	over := 0.0
	if p.LowerBound > 0 {
		over = 100 * (float64(p.Total)/float64(p.LowerBound) - 1)
	}
	return fmt.Sprintf("%d buffers in %s, %.1f%% above the lower bound of %s, %s without "+
		"sharing, %d hazards",
		len(p.Offsets), formatBytes(p.Total), over, formatBytes(p.LowerBound), formatBytes(p.Naive),
		len(p.Hazards))
}

// Compute places the buffers and finds the order their sharing demands.
// Without steps only offsets are computed. It answers an error when the input
// contradicts itself: a buffer that ends before it starts, a step that uses a
// buffer outside its life or before it was written, a step that waits for a
// later one. For n buffers and s steps the work is bounded by a constant
// number of scans over placed buffers plus O(n log n + s²/64).
func Compute(buffers []Buffer, steps []Step, cfg Config) (*Plan, error) {
	if cfg.Align == 0 {
		cfg.Align = defaultAlign
	}
	if err := checkInput(buffers, steps, cfg); err != nil {
		return nil, err
	}
	p := &Plan{Offsets: make([]int64, len(buffers)), Align: cfg.Align}
	work := int64(scanBudget)
	// Each group lies behind the one before it, so groups never share bytes.
	for _, group := range groups(buffers, cfg) {
		base := p.Total
		items := group.items
		rounds := cfg.Rounds
		if rounds == 0 {
			rounds = roundsFor(len(items))
		}
		best := search(items, group.live, rounds, &work)
		for i, it := range items {
			p.Offsets[it.index] = base + best.offsets[i]
			p.Naive += it.bytes
		}
		p.Total += best.total
		if cfg.SeparateLanes {
			p.Lanes = append(p.Lanes, Part{Lane: group.lane, Offset: base, Bytes: best.total})
		}
		p.LowerBound += peak(group.live)
	}
	p.Hazards = order(buffers, steps, p.Offsets)
	if Invariants {
		return p, p.check(buffers, steps)
	}
	return p, nil
}

// roundUp rounds n up to a multiple of align, a power of two. The sum of both must not overflow,
// which checkInput guarantees for the sizes of buffers.
func roundUp(n, align int64) int64 { return (n + align - 1) &^ (align - 1) }

// formatBytes prints a size for people.
func formatBytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}
