// Unet marks the pixels of digits on noisy backgrounds: a small U-Net (Ronneberger et al., 2015),
// whose way up reads the way down again at every size.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"gomx/autograd"
	images "gomx/examples/data"
	"gomx/gluon"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

const (
	side  = 32  // pixels of a picture
	batch = 16  // pictures
	least = 0.7 // share of marked and true pixels that are both (intersection over union)
)

// unet goes down by two sizes and up again.
type unet struct {
	Down  []nn.Sequential
	Up    []*nn.Conv2DTranspose
	Merge []nn.Sequential
	Mark  *nn.Conv2D
}

func newUnet() *unet {
	u := &unet{Mark: &nn.Conv2D{Channels: 1, Kernel: nn.Square(1)}}
	for _, c := range []int{8, 16, 32} {
		u.Down = append(u.Down, block(c))
	}
	for _, c := range []int{16, 8} {
		u.Up = append(u.Up, &nn.Conv2DTranspose{Channels: c, Kernel: nn.Square(2),
			Strides: nn.Square(2)})
		u.Merge = append(u.Merge, block(c))
	}
	return u
}

func block(channels int) nn.Sequential {
	return nn.Sequential{
		&nn.Conv2D{Channels: channels, Kernel: nn.Square(3), Pad: nn.Square(1), NoBias: true},
		&nn.BatchNorm{}, nn.Activation("relu")}
}

// Forward returns the logits of all pixels.
func (u *unet) Forward(x *nd.Array) *nd.Array {
	var seen []*nd.Array
	for i, d := range u.Down {
		if i > 0 {
			x = (&nn.MaxPool2D{}).Forward(x)
		}
		x = d.Forward(x)
		seen = append(seen, x)
	}
	for i, up := range u.Up {
		beside := seen[len(seen)-2-i]
		x = nd.Concat([]*nd.Array{up.Forward(x), beside}, nd.ConcatParams{})
		x = u.Merge[i].Forward(x)
	}
	return u.Mark.Forward(x)
}

// painter puts digits on noise.
type painter struct {
	r      *rand.Rand
	digits []float32 // of 8×8 pixels
}

// paint returns pictures, and truth that is 1 where a digit is.
func (p *painter) paint(n int) (x, truth *nd.Array) {
	a, b := make([]float32, n*side*side), make([]float32, n*side*side)
	for i := range a {
		a[i] = float32(0.5 * p.r.Float64())
	}
	for i := range n {
		for range 1 + p.r.IntN(4) {
			k := 64 * p.r.IntN(len(p.digits)/64)
			ox, oy := p.r.IntN(side-8), p.r.IntN(side-8)
			for q, v := range p.digits[k : k+64] {
				if at := (i*side+oy+q/8)*side + ox + q%8; v > 0.5 {
					a[at], b[at] = a[at]*0.5+0.5*v, 1
				}
			}
		}
	}
	return nd.FromSlice(a, n, 1, side, side), nd.FromSlice(b, n, 1, side, side)
}

func main() {
	share, err := run(context.Background(), 150)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("intersection over union %.4f\n", share)
	if share < least {
		log.Fatalf("want at least %v", least)
	}
}

// run trains for some batches, and scores pictures of other digits.
func run(_ context.Context, batches int) (float64, error) {
	train, test, err := images.Digits().Arrays()
	if err != nil {
		return 0, err
	}
	var set [2]painter
	for i, a := range []*nd.Array{train[0], test[0]} {
		set[i].r = rand.New(rand.NewPCG(5, uint64(i)))
		if set[i].digits, err = a.Float32s(); err != nil {
			return 0, err
		}
	}
	net := gluon.New(newUnet())
	if err := net.Init(initializer.Xavier{}, gluon.Seed(1)); err != nil {
		return 0, err
	}
	trainer, err := gluon.NewTrainer(net.Params(), optimizer.Adam{LR: 1e-2})
	for range batches {
		if err != nil {
			return 0, err
		}
		x, truth := set[0].paint(batch)
		loss.SigmoidBCE{}.Forward(net.Forward(autograd.Train().Watch(x)), truth).Backward()
		err = trainer.Step(batch)
	}
	x, truth := set[1].paint(64)
	marked := nd.GreaterScalar(net.Forward(x), nd.ScalarParams{})
	both, err := marked.Mul(truth).Sum().Item()
	if err != nil {
		return 0, err
	}
	any, err := marked.Maximum(truth).Sum().Item()
	return both / any, err
}
