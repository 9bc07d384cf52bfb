package io

import (
	"fmt"
	"maps"

	nd "gomx/ndarray"
)

// EncodeConfig configures EncodeSentences.
type EncodeConfig struct {
	// Vocabulary has the numbers of words; nil: EncodeSentences makes one of the words.
	Vocabulary map[string]int
	// Invalid is the number of InvalidKey in a new vocabulary, which no other word gets; -1 by
	// default.
	Invalid    nd.Opt[int]
	InvalidKey string // word of the end of a sentence; empty: a line feed
	Start      int    // number of the first new word
	// Unknown is the word that takes the place of words outside of the vocabulary; empty: there is
	// none.
	Unknown string
}

// EncodeSentences replaces words by their numbers, for BucketSentenceIter. It returns the numbers
// and the vocabulary with the new words. Without Unknown a word outside of a given vocabulary is an
// error. With Unknown each word outside of the vocabulary gives the word Unknown the next number.
//
// MXNet: rnn.encode_sentences.
func EncodeSentences(sentences [][]string, c EncodeConfig) (numbers [][]int,
	vocabulary map[string]int, err error) {
	next, invalid := c.Start, c.Invalid.Or(-1)
	vocabulary = maps.Clone(c.Vocabulary)
	if vocabulary == nil {
		key := c.InvalidKey
		if key == "" {
			key = "\n"
		}
		vocabulary = map[string]int{key: invalid}
	}
	for i, sentence := range sentences {
		list := make([]int, len(sentence))
		for k, word := range sentence {
			if _, known := vocabulary[word]; !known {
				if c.Vocabulary != nil && c.Unknown == "" {
					return nil, nil, fmt.Errorf("io: EncodeSentences: sentence %d: the word %q is "+
						"not in the vocabulary, and Unknown is empty", i, word)
				}
				if next == invalid {
					next++
				}
				if c.Unknown != "" {
					word = c.Unknown
				}
				vocabulary[word] = next
				next++
			}
			list[k] = vocabulary[word]
		}
		numbers = append(numbers, list)
	}
	return numbers, vocabulary, nil
}
