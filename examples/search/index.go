package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gomx/gluon/embed"
)

// A hit is a paragraph near to a question.
type hit struct {
	Page  string  `json:"page"`
	Text  string  `json:"text"`
	Score float32 `json:"score"` // cosine of the angle between the embeddings
}

// index has the embeddings of paragraphs. It serves HTTP.
type index struct {
	model      *embed.Model
	paragraphs []hit
	vectors    [][]float32
}

// reference is the page of all operators, which the index leaves out: it has more paragraphs than
// the other pages together.
const reference = "ops.md"

// newIndex embeds the pieces of the pages in a folder, each behind the titles that it stands under,
// because few paragraphs name the subject of their page.
func newIndex(ctx context.Context, m *embed.Model, folder string) (*index, error) {
	pages, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err == nil && len(pages) == 0 {
		err = fmt.Errorf("%s has no pages", folder)
	}
	if err != nil {
		return nil, err
	}
	x := &index{model: m}
	var texts []string
	for _, page := range pages {
		name := filepath.Base(page)
		if name == reference {
			continue
		}
		b, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		for titles, text := range pieces(string(b)) {
			texts = append(texts, titles+text)
			x.paragraphs = append(x.paragraphs, hit{Page: name, Text: text})
		}
	}
	x.vectors, err = m.Embed(ctx, texts...)
	return x, err
}

// search returns the n paragraphs nearest to a question.
func (x *index) search(ctx context.Context, question string, n int) ([]hit, error) {
	q, err := x.model.Embed(ctx, question)
	if err != nil {
		return nil, err
	}
	hits := slices.Clone(x.paragraphs)
	for i, v := range x.vectors {
		for k, e := range v {
			hits[i].Score += e * q[0][k]
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.Score, a.Score) })
	return hits[:min(n, len(hits))], nil
}

// ServeHTTP answers /search?q=QUESTION&n=NUMBER with a JSON list of hits, 5 by default.
func (x *index) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	question, n := strings.TrimSpace(r.FormValue("q")), 5
	if s := r.FormValue("n"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 1 {
			http.Error(w, fmt.Sprintf("n is %q, want a number above 0", s), http.StatusBadRequest)
			return
		}
	}
	if r.URL.Path != "/search" || question == "" {
		http.Error(w, "want /search?q=QUESTION", http.StatusNotFound)
		return
	}
	hits, err := x.search(r.Context(), question, n)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(hits)
}
