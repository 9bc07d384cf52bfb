// Gpt trains a small GPT-2 on text files, letter by letter, and lets it write.
//
//	go run ./examples/gpt docs/*.md README.md
//
// Without names of files it reads the pages of this manual. With -short it trains a smaller network
// with fewer steps.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"

	"gomx/autograd"
	"gomx/gluon"
	"gomx/gluon/generate"
	"gomx/gluon/loss"
	"gomx/gluon/zoo"
	"gomx/initializer"
	"gomx/optimizer"
)

// most is the greatest loss of unread text, per letter in nats.
const most = 2.9

// options are the flags.
type options struct {
	steps, batch, length, layers, units int
	lr                                  float64
	say                                 string // the text that the network continues
	every                               int    // steps between reports
}

func main() {
	o := options{}
	flag.IntVar(&o.steps, "steps", 1500, "training steps")
	flag.IntVar(&o.batch, "batch", 16, "sequences of a step")
	flag.IntVar(&o.length, "length", 96, "letters of a sequence")
	flag.IntVar(&o.layers, "layers", 4, "layers of the network")
	flag.IntVar(&o.units, "units", 128, "size of a step")
	flag.Float64Var(&o.lr, "lr", 1e-3, "learning rate")
	flag.StringVar(&o.say, "say", "The engine", "beginning of the text that is written")
	flag.IntVar(&o.every, "every", 100, "steps between reports")
	short := flag.Bool("short", false, "250 steps of two layers with 64 units, sequences of 64")
	flag.Parse()
	if *short {
		o.steps, o.layers, o.units, o.length, o.lr = 250, 2, 64, 64, 3e-3
	}
	text, err := read(flag.Args())
	if err != nil {
		log.Fatal(err)
	}
	held, said, err := run(context.Background(), text, o)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("loss of the last tenth of the text: %.3f\n%s%s\n", held, o.say, said)
	if held > most {
		log.Fatalf("want at most %v", most)
	}
}

// run trains on the first nine tenths of a text. It returns the loss of the last tenth, per letter
// in nats, and the continuation of o.say.
func run(ctx context.Context, text []byte, o options) (held float64, said string, err error) {
	letters := slices.Compact(slices.Sorted(slices.Values(text))) // those that occur
	words := make([]float32, len(text))
	for i, b := range text {
		words[i] = float32(bytes.IndexByte(letters, b))
	}
	cut := len(words) * 9 / 10
	if len(words)-cut <= o.length {
		return 0, "", fmt.Errorf("a text of %d letters, want more than %d", len(text), 10*o.length)
	}
	gpt := zoo.NewGPT2(zoo.GPT2Config{Vocab: len(letters), Units: o.units, Layers: o.layers,
		Heads: max(1, o.units/32), MaxLength: 2 * o.length})
	net := gluon.New(gpt)
	if err := net.Init(initializer.Xavier{}, gluon.Seed(1)); err != nil {
		return 0, "", err
	}
	net.Hybridize()
	trainer, err := gluon.NewTrainer(net.Params(), optimizer.Adam{LR: o.lr})
	if err != nil {
		return 0, "", err
	}
	rng := rand.New(rand.NewPCG(1, 0))
	for step := range o.steps {
		x, label := batch(words, o.batch, o.length, func() int { return rng.IntN(cut - o.length) })
		y := loss.SoftmaxCE{}.Forward(net.Forward(autograd.Train().Watch(x)), label)
		y.Backward()
		if err := trainer.Step(o.batch); err != nil {
			return 0, "", err
		}
		if step%o.every == 0 {
			mean, err := y.Mean().Item()
			if err != nil {
				return 0, "", err
			}
			fmt.Printf("step %d: loss %.3f\n", step, mean)
		}
	}
	n, at := (len(words)-cut-1)/o.length, cut-o.length
	x, label := batch(words, n, o.length, func() int { at += o.length; return at })
	held, err = loss.SoftmaxCE{}.Forward(net.Forward(x), label).Mean().Item()
	var prompt []int
	for _, b := range []byte(o.say) {
		prompt = append(prompt, bytes.IndexByte(letters, b))
	}
	out, err2 := generate.Words(ctx, gpt, [][]int{prompt}, generate.Config{Most: o.length,
		Sampling: generate.Sampling{Temperature: 0.7, TopK: 20, TopP: 0.95, Seed: 1}})
	if err := errors.Join(err, err2); err != nil {
		return 0, "", err
	}
	for _, w := range out[0] {
		said += string(letters[w : w+1])
	}
	return held, said, nil
}
