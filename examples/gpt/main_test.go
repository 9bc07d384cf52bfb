package main

import (
	"context"
	"strings"
	"testing"
)

// TestSentences trains on two sentences that alternate: the network says them by heart.
func TestSentences(t *testing.T) {
	text := strings.Repeat("A wheel turns. The road is long. ", 60)
	held, said, err := run(context.Background(), []byte(text), options{steps: 250, batch: 8,
		length: 33, layers: 2, units: 32, lr: 5e-3, say: "A wheel", every: 50})
	if err != nil {
		t.Fatal(err)
	}
	if held > 0.3 {
		t.Errorf("the loss is %.3f, want at most 0.3", held)
	}
	if want := " turns. The road is"; !strings.HasPrefix(said, want) {
		t.Errorf("the network goes on with %q, want %q", said, want)
	}
	if _, _, err := run(context.Background(), []byte("short"), options{length: 33}); err == nil {
		t.Error("no error for a text that is too short")
	}
}
