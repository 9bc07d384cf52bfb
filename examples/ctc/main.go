// Ctc reads lines of handwritten digits without knowing where a digit begins: a bidirectional LSTM
// reads the columns of a picture, and connectionist temporal classification (Graves et al., 2006)
// compares its scores with the digits of the line.
package main

import (
	"context"
	"fmt"
	"log"

	"gomx/autograd"
	images "gomx/examples/data"
	"gomx/gluon"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/gluon/rnn"
	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

const (
	height, width = 12, 64 // pixels of a line
	longest       = 6      // digits of a line
	blank         = 10     // class of columns without a digit, behind the ten digits
	batch         = 32     // lines
	least         = 0.93   // share of digits that must be read, less digits that were made up
)

// reader has scores of the classes for each second column.
type reader struct {
	Strokes nn.Sequential
	Columns *rnn.Layer
	Scores  *nn.Dense
}

// Forward returns scores of shape (columns, n, classes) for lines of shape (n, 1, height, width).
func (r *reader) Forward(x *nd.Array) *nd.Array {
	y := r.Strokes.Forward(x).Transpose(3, 0, 1, 2).Reshape(0, 0, -1)
	return r.Scores.Forward(r.Columns.Forward(y))
}

// read returns the digits of the best class of each column: neighbours of one class are one digit.
func read(classes []float32, line, lines int) (digits []float32) {
	last := float32(blank)
	for at := line; at < len(classes); at += lines {
		if c := classes[at]; c != last && c != blank {
			digits = append(digits, c)
		}
		last = classes[at]
	}
	return digits
}

func main() {
	share, err := run(context.Background(), 800)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("digits read %.4f\n", share)
	if share < least {
		log.Fatalf("want at least %v", least)
	}
}

// run trains for some batches. It returns the share of digits that are read in 200 lines of other
// writers' digits: 1 less the edits per digit.
func run(_ context.Context, batches int) (float64, error) {
	train, test, err := images.Digits().Arrays()
	if err != nil {
		return 0, err
	}
	var sets [2]*writer
	for i, set := range [][]*nd.Array{train, test} {
		if sets[i], err = newWriter(set, uint64(i)); err != nil {
			return 0, err
		}
	}
	net := gluon.New(&reader{
		Strokes: nn.Sequential{
			&nn.Conv2D{Channels: 16, Kernel: nn.Square(3), Pad: nn.Square(1), NoBias: true},
			&nn.BatchNorm{}, nn.Activation("relu"), &nn.MaxPool2D{},
			&nn.Conv2D{Channels: 24, Kernel: nn.Square(3), Pad: nn.Square(1), NoBias: true},
			&nn.BatchNorm{}, nn.Activation("relu")},
		Columns: &rnn.Layer{Hidden: 48, Bidirectional: true},
		Scores:  &nn.Dense{Units: blank + 1, KeepAxes: true}})
	if err := net.Init(initializer.Xavier{}, gluon.Seed(1)); err != nil {
		return 0, err
	}
	trainer, err := gluon.NewTrainer(net.Params(), optimizer.Adam{LR: 5e-3})
	for range batches {
		if err != nil {
			return 0, err
		}
		x, digits := sets[0].write(batch)
		loss.CTC{TimeFirst: true}.Forward(net.Forward(autograd.Train().Watch(x)), digits).Backward()
		err = trainer.Step(batch)
	}
	return score(net, sets[1], 200)
}

// score returns the share of digits that are read.
func score(net *gluon.Net, w *writer, lines int) (float64, error) {
	x, digits := w.write(lines)
	classes, err := net.Forward(x).ArgMax(-1).Float32s()
	if err != nil {
		return 0, err
	}
	want, err := nd.RowsOf[float32](digits)
	if err != nil {
		return 0, err
	}
	edits, all := 0, 0
	for i, line := range want {
		n := 0
		for n < longest && line[n] >= 0 {
			n++
		}
		edits, all = edits+images.Distance(read(classes, i, lines), line[:n]), all+n
	}
	return 1 - float64(edits)/float64(all), nil
}
