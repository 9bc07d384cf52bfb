package main

import (
	"context"
	"fmt"
	"slices"

	"gomx/gluon/embed"
)

// least is the least share of questions with an answer from the right page.
const least = 0.8

// questions and the pages with their answers, in other words.
var questions = map[string]string{
	"How do I continue training after the process was killed?": "resume.md",
	"calibrate a network and compute with 8-bit integers":      "quantization.md",
	"convert a model of another framework to ONNX":             "onnx.md",
	"What does half precision change about the loss?":          "mixed-precision.md",
	"answer requests over HTTP with a trained model":           "getting-started.md",
	"I know torch tensors, where do I begin?":                  "from-pytorch.md",
	"How old may the values be that a worker reads?":           "staleness.md",
	"watch the loss in a browser":                              "board.md",
	"rows of large embedding tables with few nonzeros":         "sparse.md",
	"predict how long a step takes on another machine":         "plan.md",
}

// examine asks the questions. It returns an error if too few of them have the right page among
// their three nearest paragraphs.
func examine(ctx context.Context, model, docs string) error {
	m, err := embed.Load(model)
	if err != nil {
		return err
	}
	defer m.Close()
	x, err := newIndex(ctx, m, docs)
	if err != nil {
		return err
	}
	right := 0
	for question, page := range questions {
		hits, err := x.search(ctx, question, 3)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(hits, func(h hit) bool { return h.Page == page }) {
			right++
			continue
		}
		fmt.Printf("%s: the nearest paragraph is in %s, not in %s\n", question, hits[0].Page, page)
	}
	share := float64(right) / float64(len(questions))
	fmt.Printf("%.2f of the questions are answered by the right page\n", share)
	if share < least {
		return fmt.Errorf("want at least %v", least)
	}
	return nil
}
