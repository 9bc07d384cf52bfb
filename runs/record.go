package runs

import "time"

// Begin says that a process has begun to write.
type Begin struct {
	Step    int64     `json:"step"` // points of this and later steps, recorded before, are hidden
	Time    time.Time `json:"time"`
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Program []string  `json:"program"`
	Rank    int       `json:"rank"`
}

// Graph is a network as a graph of operators.
type Graph struct {
	Nodes      []Node `json:"nodes"`
	Parameters int64  `json:"parameters"` // learned numbers
	FLOPs      int64  `json:"flops"`      // of one inference
}

// Node is one operator or one input of a Graph.
type Node struct {
	Name       string   `json:"name"`
	Op         string   `json:"op"`   // empty for inputs
	Kind       string   `json:"kind"` // family, such as product or pooling; it gives the colour
	In         []string `json:"in,omitempty"`
	Shape      []int    `json:"shape"`
	Type       string   `json:"type"`
	Bytes      int64    `json:"bytes"` // of the result
	Parameters int64    `json:"parameters,omitempty"`
	FLOPs      int64    `json:"flops,omitempty"`
	Attrs      string   `json:"attrs,omitempty"`
}

// Memory is the plan of an executor's memory: blocks of bytes, each with its steps.
type Memory struct {
	Total  int64    `json:"total"` // bytes of the arena
	Bound  int64    `json:"bound"` // the most bytes that are alive at one time
	Naive  int64    `json:"naive"` // bytes without sharing
	Steps  []string `json:"steps"` // names of operators in their order
	Blocks []Block  `json:"blocks"`
}

// Block is one buffer of a Memory.
type Block struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	Start  int    `json:"start"` // first step
	End    int    `json:"end"`   // last step
}

// Timeline is a trace of one step: boxes in lanes, and arrows between boxes.
type Timeline struct {
	Lanes []string `json:"lanes"`
	Boxes []Box    `json:"boxes"`
	// Flows are pairs of numbers of boxes: the second reads or overwrites a result of the first.
	Flows [][2]int `json:"flows"`
}

// Box is an operation of a Timeline. Times are microseconds since the first one.
type Box struct {
	Name  string  `json:"name"`
	Op    string  `json:"op,omitempty"` // operator; empty for operations of the engine
	Lane  int     `json:"lane"`
	Depth int     `json:"depth"` // 1: an operator inside an operation of the engine
	Start float64 `json:"start"`
	Dur   float64 `json:"dur"`
	Bytes int64   `json:"bytes,omitempty"`
	FLOPs int64   `json:"flops,omitempty"`
}

// Event is something that happened in a run or its job: a death, a takeover, a checkpoint.
type Event struct {
	Kind string    `json:"kind"` // such as dead, joined, takeover, epoch, checkpoint
	Node string    `json:"node,omitempty"`
	Text string    `json:"text"`
	Time time.Time `json:"time"`
}

// Matrix is a confusion matrix.
type Matrix struct {
	Labels []string `json:"labels"`
	Counts [][]int  `json:"counts"` // Counts[t][p]: samples of class t classified as p
}

// Sample is a prediction for one sample.
type Sample struct {
	Text       string  `json:"text,omitempty"`
	PNG        []byte  `json:"png,omitempty"` // picture of the sample
	Label      string  `json:"label,omitempty"`
	Prediction string  `json:"prediction"`
	Confidence float64 `json:"confidence,omitempty"` // 0 to 1
}

// Names of notes.
const (
	noteHyper    = "hyper"
	noteScore    = "score"
	noteGraph    = "graph"
	noteMemory   = "memory"
	noteTimeline = "trace"
	noteEvent    = "event"
	noteMatrix   = "matrix"
	noteSamples  = "samples"
	noteEnd      = "end"
)
