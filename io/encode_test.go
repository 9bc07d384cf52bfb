package io_test

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"gomx/io"
	nd "gomx/ndarray"
)

// The numbers and vocabularies are those of MXNet 1.9.1.
func TestEncodeSentences(t *testing.T) {
	sentences := [][]string{{"a", "b", "a"}, {"c"}, {"b", "d"}}
	given := map[string]int{"a": 5, "b": 7}
	for _, c := range []struct {
		config  io.EncodeConfig
		numbers [][]int
		words   map[string]int
	}{
		{io.EncodeConfig{}, [][]int{{0, 1, 0}, {2}, {1, 3}},
			map[string]int{"\n": -1, "a": 0, "b": 1, "c": 2, "d": 3}},
		{io.EncodeConfig{Invalid: nd.Some(0)}, [][]int{{1, 2, 1}, {3}, {2, 4}},
			map[string]int{"\n": 0, "a": 1, "b": 2, "c": 3, "d": 4}},
		{io.EncodeConfig{Invalid: nd.Some(1), InvalidKey: "</s>"}, [][]int{{0, 2, 0}, {3}, {2, 4}},
			map[string]int{"</s>": 1, "a": 0, "b": 2, "c": 3, "d": 4}},
		{io.EncodeConfig{Vocabulary: given, Unknown: "?", Start: 9}, [][]int{{5, 7, 5}, {9}, {7, 10}},
			map[string]int{"a": 5, "b": 7, "?": 10}},
		{io.EncodeConfig{Unknown: "?"}, [][]int{{0, 1, 2}, {3}, {4, 5}},
			map[string]int{"\n": -1, "?": 5}},
	} {
		numbers, words, err := io.EncodeSentences(sentences, c.config)
		if err != nil || !reflect.DeepEqual(numbers, c.numbers) || !maps.Equal(words, c.words) {
			t.Errorf("%+v: %v, %v, %v, want %v, %v", c.config, numbers, words, err, c.numbers,
				c.words)
		}
	}
	if len(given) != 2 {
		t.Errorf("the given vocabulary is %v, want it unchanged", given)
	}
	_, _, err := io.EncodeSentences(sentences, io.EncodeConfig{Vocabulary: given})
	if err == nil || !strings.Contains(err.Error(), `sentence 1: the word "c"`) {
		t.Errorf("got %v, want an error that names the word", err)
	}
}
