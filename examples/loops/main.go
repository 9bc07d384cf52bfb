// Loops computes square roots by a loop with a condition, and trains a recurrent cell whose steps
// are one loop node of a graph. The cell learns to add up numbers.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	"gomx/device"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

const (
	near = 1e-5 // distance of the computed root from the square root, at most
	miss = 0.02 // distance of both learned weights from 1, at most
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	root, steps, err := squareRoot(2)
	if err != nil {
		return err
	}
	fmt.Printf("square root %.5f after %d steps\n", root, steps)
	if off := math.Abs(root - math.Sqrt2); off > near {
		return fmt.Errorf("the root is off by %v, want at most %v", off, near)
	}
	keep, add, err := train(cell())
	if err != nil {
		return err
	}
	fmt.Printf("new sum = %.2f * sum + %.2f * number\n", keep, add)
	if off := max(math.Abs(keep-1), math.Abs(add-1)); off > miss {
		return fmt.Errorf("a weight is off by %v, want at most %v", off, miss)
	}
	return files(cell())
}

// squareRoot is Newton's method: guesses are improved as long as their square differs from v. Each
// step returns the guess before it, so the rows of the output count the steps.
func squareRoot(v float64) (root float64, steps int, err error) {
	target := nd.ScalarParams{Scalar: v}
	cond := func(x []*nd.Array) *nd.Array {
		miss := x[0].Mul(x[0]).SubScalar(v).Abs()
		return nd.GreaterScalar(miss, nd.ScalarParams{Scalar: 1e-5})
	}
	body := func(x []*nd.Array) (guesses, next []*nd.Array) {
		return x, []*nd.Array{x[0].Add(nd.RDivScalar(x[0], target)).MulScalar(0.5)}
	}
	guesses, last := nd.WhileLoop(cond, body, []*nd.Array{nd.Ones(nd.Shape{1})}, 20)
	if root, err = last[0].Item(); err != nil {
		return 0, 0, err
	}
	list, err := guesses[0].Float32s()
	for _, g := range list {
		if g != 0 { // rows of steps that were not taken are zeros
			steps++
		}
	}
	return root, steps, err
}

// cell is the loss of a network that reads the rows of data one by one. Its state is a sum for
// each column; the weights keep and add are read by every step.
func cell() *sym.Symbol {
	keep, add := sym.Var("keep", sym.Shape(1)), sym.Var("add", sym.Shape(1))
	_, sums := sym.Foreach(func(row, sum []*sym.Symbol) (outs, next []*sym.Symbol) {
		return nil, []*sym.Symbol{sym.ElemwiseAdd(sym.BroadcastMul(sum[0], keep),
			sym.BroadcastMul(row[0], add))}
	}, []*sym.Symbol{sym.Var("data")}, []*sym.Symbol{sym.Var("start")}, sym.Name("loop"))
	miss := sym.ElemwiseSub(sums[0], sym.Var("target"))
	return sym.MakeLoss(sym.Mean(sym.Square(miss), sym.ReduceParams{}), sym.MakeLossParams{})
}

// train finds the weights by gradient descent on random sequences of five numbers.
func train(loss *sym.Symbol) (keep, add float64, err error) {
	const length, batch = 5, 16
	ex, err := loss.SimpleBind(sym.BindConfig{Device: device.CPU(), Shapes: map[string]nd.Shape{
		"data": {length, batch}, "start": {batch}, "target": {batch}}})
	if err != nil {
		return 0, 0, err
	}
	defer ex.Close()
	weights := []string{"keep", "add"}
	for _, name := range weights {
		ex.Args[name].Set(nd.Full(0.5, nd.Shape{1}))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		data, target := make([]float32, length*batch), make([]float32, batch)
		for i := range data {
			data[i] = float32(random.Float64()*2 - 1)
			target[i%batch] += data[i]
		}
		ex.Args["data"].Set(nd.FromSlice(data, length, batch))
		ex.Args["target"].Set(nd.FromSlice(target))
		if err := ex.Forward(true); err != nil {
			return 0, 0, err
		}
		if err := ex.Backward(); err != nil {
			return 0, 0, err
		}
		for _, name := range weights {
			w := ex.Args[name]
			w.Set(w.Sub(ex.Grads[name].MulScalar(0.05)))
		}
	}
	if keep, err = ex.Args["keep"].Item(); err != nil {
		return 0, 0, err
	}
	add, err = ex.Args["add"].Item()
	return keep, add, err
}

// files writes the network as MXNet's symbol file, with the step of the loop as a subgraph, and
// reads it again.
func files(net *sym.Symbol) error {
	text, err := net.JSON()
	if err != nil {
		return err
	}
	again, err := sym.Load(text)
	if err != nil {
		return err
	}
	second, err := again.JSON()
	if err != nil {
		return err
	}
	fmt.Println("arguments", again.Arguments())
	same := bytes.Equal(text, second) && bytes.Contains(text, []byte(`"subgraphs"`))
	fmt.Println("files with subgraphs are equal:", same)
	if !same {
		return errors.New("the file that was read again differs from the first")
	}
	return nil
}
