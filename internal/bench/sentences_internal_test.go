package bench

import (
	"slices"
	"strings"
	"testing"
)

// TestDrawSentences: the line has the sentences that its page names, the same ones each time.
func TestDrawSentences(t *testing.T) {
	list := drawSentences()
	if len(list) != sentenceCount || !slices.Equal(list, drawSentences()) {
		t.Fatalf("%d sentences, want the same %d each time", len(list), sentenceCount)
	}
	short, long := sentenceMost, 0
	for _, s := range list {
		n := len(strings.Fields(s))
		short, long = min(short, n), max(long, n)
	}
	if short != sentenceLeast || long != sentenceMost {
		t.Errorf("sentences of %d to %d words, want %d to %d", short, long, sentenceLeast,
			sentenceMost)
	}
}
