package main

import (
	"context"
	"os"
	"testing"
)

// TestMain lets the processes that TestKill starts train.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-train" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestKill(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	killed, accuracy, err := run(context.Background(), self, 3)
	if err != nil {
		t.Fatal(err)
	}
	if t.Log(killed, accuracy); killed < 1 || accuracy < 0.85 {
		t.Errorf("%d processes killed and accuracy %v, want at least 1 and 0.85", killed, accuracy)
	}
}
