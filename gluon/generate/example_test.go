package generate_test

import (
	"context"
	"fmt"
	"log"

	"gomx/gluon"
	"gomx/gluon/generate"
	"gomx/gluon/zoo"
	"gomx/initializer"
)

// Two prompts of different lengths go on together, with words drawn from the five best.
func ExampleWords() {
	gpt := zoo.NewGPT2(zoo.GPT2Config{Vocab: 100, Units: 32, Layers: 2, Heads: 4})
	if err := gluon.New(gpt).Init(initializer.Xavier{}); err != nil {
		log.Fatal(err)
	}
	words, err := generate.Words(context.Background(), gpt, [][]int{{1, 2, 3}, {4}},
		generate.Config{Most: 10, Sampling: generate.Sampling{Temperature: 1, TopK: 5, Seed: 7}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(words), len(words[0]), len(words[1]))
	// Output: 2 10 10
}
