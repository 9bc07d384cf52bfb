// Textclass tells from which page of this manual some words are, by a transformer.
package main

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"log"
	"os"
	"path/filepath"
	"strings"

	"gomx/autograd"
	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/metric"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

const (
	steps, words = 24, 4096 // words of a sample, and numbers of words
	least        = 0.75     // share of samples that must be told right; by chance 0.25
)

var pages = []string{"distributed.md", "sparse.md", "onnx.md", "data.md"}

func main() {
	dir := flag.String("docs", "docs", "folder with the pages")
	flag.Parse()
	accuracy, err := run(context.Background(), *dir, 12)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("accuracy %.4f\n", accuracy)
	if accuracy < least {
		log.Fatalf("want at least %v", least)
	}
}

// samples cuts the pages into pieces of steps words. Every fifth piece is for the test.
func samples(dir string) (train, test []*nd.Array, err error) {
	var x, y [2][]float32
	for class, name := range pages {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, nil, err
		}
		list := strings.Fields(strings.ToLower(string(text)))
		for i := 0; i+steps <= len(list); i += steps {
			k := 0
			if i/steps%5 == 4 {
				k = 1
			}
			for _, w := range list[i : i+steps] {
				h := fnv.New32a()
				_, _ = h.Write([]byte(strings.Trim(w, ".,:;()`*|")))
				x[k] = append(x[k], float32(h.Sum32()%words))
			}
			y[k] = append(y[k], float32(class))
		}
	}
	for k, to := range []*[]*nd.Array{&train, &test} {
		*to = []*nd.Array{nd.FromSlice(x[k], len(y[k]), steps), nd.FromSlice(y[k])}
	}
	return train, test, nil
}

// network reads the words of a sample, and tells the page by the mean of all steps.
func network() *gluon.Net {
	return gluon.New(nn.Sequential{&nn.Embedding{Rows: words, Units: 32}, nn.SinusoidalPosition{},
		&nn.TransformerEncoder{Depth: 1, TransformerConfig: nn.TransformerConfig{Units: 32,
			Heads: 4, Hidden: 64, Dropout: 0.2}},
		gluon.Func(func(x *nd.Array) *nd.Array { return x.Mean(1) }),
		&nn.Dropout{Rate: 0.3}, &nn.Dense{Units: len(pages)}})
}

// run trains for some epochs, and returns the share of test samples that are told right.
func run(ctx context.Context, dir string, epochs int) (float64, error) {
	train, test, err := samples(dir)
	if err != nil {
		return 0, err
	}
	net := network()
	if err := net.Init(initializer.Xavier{}, gluon.Seed(1)); err != nil {
		return 0, err
	}
	trainer, err := gluon.NewTrainer(net.Params(), optimizer.Adam{LR: 3e-3})
	if err != nil {
		return 0, err
	}
	loader := data.NewLoader(data.Arrays(train...), 16, data.Shuffle(7))
	for range epochs {
		for batch, err := range loader.Batches(ctx) {
			if err != nil {
				return 0, err
			}
			y := net.Forward(autograd.Train().Watch(batch.Data))
			loss.SoftmaxCE{}.Forward(y, batch.Label).Backward()
			if err := trainer.Step(batch.Size); err != nil {
				return 0, err
			}
		}
	}
	accuracy := metric.Accuracy()
	if err := accuracy.Update(test[1:], []*nd.Array{net.Forward(test[0])}); err != nil {
		return 0, err
	}
	_, values := accuracy.Value()
	return values[0], nil
}
