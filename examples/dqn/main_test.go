package main

import (
	"context"
	"math/rand/v2"
	"testing"
)

// TestShort trains for a shorter time than the program.
func TestShort(t *testing.T) {
	v, err := run(context.Background(), 1500, 100)
	if err != nil {
		t.Fatal(err)
	}
	if t.Log(v); v < 50 {
		t.Errorf("%v pushes, want at least 50; pushes at random end after 22", v)
	}
}

// TestFalls pushes to one side: the pole falls to the other one.
func TestFalls(t *testing.T) {
	for action := range 2 {
		var c cartPole
		c.reset(rand.New(rand.NewPCG(1, 0)))
		fallen, over := false, false
		for !over {
			fallen, over = c.push(action)
		}
		if left := c.state[2] < 0; !fallen || c.steps > 15 || left != (action == 1) {
			t.Errorf("push %d: fallen %v after %d pushes with angle %v", action, fallen, c.steps,
				c.state[2])
		}
	}
}
