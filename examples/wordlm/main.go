// Wordlm trains a language model on the sentences of this manual: an LSTM that tells the next word.
// Sentences of similar length share a bucket, and every bucket has a network of its length; all
// networks share their parameters and their memory.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"gomx/initializer"
	dataio "gomx/io"
	"gomx/metric"
	"gomx/module"
	"gomx/optimizer"
	"gomx/rnn"
	sym "gomx/symbol"
)

const (
	most    = 110 // perplexity of other sentences, at most
	batch   = 32  // sentences
	rare    = 5   // words that occur less often count as one word
	filling = 0   // number of the word behind the end of a sentence
	unknown = 1   // number of all rare words
)

var buckets = []int{8, 12, 16, 24, 32}

func main() {
	dir := flag.String("docs", "docs", "folder with the pages")
	flag.Parse()
	perplexity, err := run(context.Background(), *dir, 8)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("perplexity %.1f\n", perplexity)
	if perplexity > most {
		log.Fatalf("want at most %v", most)
	}
}

// sentences returns the sentences of the pages as numbers of words, and how many words there are.
func sentences(dir string) (list [][]int, words int, err error) {
	pages, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		return nil, 0, err
	}
	var texts [][]string
	count := map[string]int{}
	word, end := regexp.MustCompile("[a-z0-9]+|[,:;]"), regexp.MustCompile(`\. |\n\n|\n- `)
	for _, name := range pages {
		page, err := os.ReadFile(name)
		if err != nil {
			return nil, 0, err
		}
		for _, s := range end.Split(strings.ToLower(string(page)), -1) {
			text := append(word.FindAllString(s, -1), ".")
			for _, w := range text {
				count[w]++
			}
			texts = append(texts, text)
		}
	}
	numbers := map[string]int{}
	for _, text := range texts {
		var s []int
		for _, w := range text {
			if count[w] < rare {
				s = append(s, unknown)
				continue
			}
			if numbers[w] == 0 {
				numbers[w] = len(numbers) + unknown + 1
			}
			s = append(s, numbers[w])
		}
		list = append(list, s)
	}
	return list, len(numbers) + unknown + 1, nil
}

// network returns the function that makes the network for sentences of some length. All lengths
// share the cell, and so its parameters.
func network(words int) module.SymGen {
	cell := &rnn.Fused{Hidden: 96, Dropout: 0.2}
	return func(bucket any) (*sym.Symbol, error) {
		x := sym.Embedding(sym.Var("data"), sym.EmbeddingParams{InputDim: words, OutputDim: 64},
			sym.Name("embed"))
		x, _ = rnn.Unroll(cell, bucket.(int), x)
		x = sym.Dropout(x, sym.DropoutParams{P: sym.Some(0.3)}, sym.Name("drop"))
		x = sym.Reshape(x, sym.ReshapeParams{Shape: []int{-3, -2}}) // a row for each word
		x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: words}, sym.Name("next"))
		label := sym.Reshape(sym.Var("softmax_label"), sym.ReshapeParams{Shape: []int{-1}})
		return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{UseIgnore: true,
			IgnoreLabel: sym.Some(float64(filling)), Normalization: "valid"},
			sym.Name("softmax"), sym.With("label", label)), nil
	}
}

// run trains for some epochs, and returns the perplexity of every tenth sentence, which the network
// has not seen.
func run(ctx context.Context, dir string, epochs int) (float64, error) {
	list, words, err := sentences(dir)
	if err != nil {
		return 0, err
	}
	var parts [2][][]int
	for i, s := range list {
		k := 0
		if i%10 == 9 {
			k = 1
		}
		parts[k] = append(parts[k], s)
	}
	var its [2]*dataio.BucketSentences
	for k, part := range parts {
		its[k], err = dataio.BucketSentenceIter(dataio.BucketSentenceConfig{Sentences: part,
			BatchSize: batch, Buckets: buckets, Invalid: filling, Seed: 1})
		if err != nil {
			return 0, err
		}
	}
	mod, err := module.NewBucketing(network(words), its[0].DefaultBucket(), module.Seed(1))
	if err != nil {
		return 0, err
	}
	perplexity := metric.Perplexity(metric.IgnoreLabel(filling))
	if err := mod.Fit(ctx, its[0],
		module.Epochs(epochs),
		module.Optimize(optimizer.Adam{LR: 0.005, Common: optimizer.Common{Rescale: 1}}),
		module.Init(initializer.Xavier{}),
		module.Metric(perplexity),
		module.Progress(os.Stderr)); err != nil {
		return 0, err
	}
	score, err := mod.Score(ctx, its[1], perplexity)
	if err != nil {
		return 0, err
	}
	value, _ := score.Get("perplexity")
	return value, nil
}
