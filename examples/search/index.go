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

// newIndex embeds the paragraphs of the pages in a folder. Code, tables and headings are left out.
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
		b, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		for i, prose := range strings.Split(string(b), "```") {
			for _, p := range strings.Split(prose, "\n\n") {
				text := strings.Join(strings.Fields(p), " ")
				if i%2 == 1 || len(text) < 40 || strings.ContainsAny(text[:1], "|#<") {
					continue
				}
				texts = append(texts, text)
				x.paragraphs = append(x.paragraphs, hit{Page: filepath.Base(page), Text: text})
			}
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
