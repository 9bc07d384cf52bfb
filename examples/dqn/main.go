// Dqn learns to balance a pole on a cart by deep Q-learning (Mnih et al., 2015), with two networks
// against values that are too high (van Hasselt et al., 2016): one network chooses the push, a copy
// from some steps ago tells its worth.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
)

const (
	carts    = 8      // episodes that go on at the same time
	batch    = 64     // experiences of a training step
	memory   = 20_000 // experiences that are kept
	copying  = 100    // training steps from one copy of the network to the next
	discount = 0.99   // worth of the next push, as a share of this push's
	solved   = 195    // mean pushes of an episode, at most longest, that end the training
	least    = 150    // mean pushes of new episodes that must be reached
)

func main() {
	mean, err := run(context.Background(), 10_000, solved)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("mean pushes %.1f of %d\n", mean, longest)
	if mean < least {
		log.Fatalf("want at least %v", least)
	}
}

// run trains for at most some steps, until the mean of an episode's pushes reaches enough. It
// returns the mean of 50 new episodes.
func run(_ context.Context, steps int, enough float64) (float64, error) {
	a, err := newAgent()
	if err != nil {
		return 0, err
	}
	r := rand.New(rand.NewPCG(1, 0))
	var all [carts]cartPole
	for i := range all {
		all[i].reset(r)
	}
	for step := range steps {
		var x []float32
		for i := range all {
			x = all[i].observe(x)
		}
		pushes, err := a.best(x)
		if err != nil {
			return 0, err
		}
		explore := max(0.05, 1-float64(step)/1000) // share of pushes at random
		for i := range all {
			e := experience{before: x[4*i : 4*i+4], action: pushes[i]}
			if r.Float64() < explore {
				e.action = float32(r.IntN(2))
			}
			fallen, over := all[i].push(int(e.action))
			if e.after = all[i].observe(nil); fallen {
				e.fell = 1
			}
			if a.remember(e); over {
				all[i].reset(r)
			}
		}
		if len(a.seen) < 10*batch {
			continue
		}
		if err := a.learn(r); err != nil {
			return 0, err
		}
		if step%250 == 249 {
			mean, err := a.play(20, r)
			if err != nil {
				return 0, err
			}
			fmt.Printf("step %d: mean pushes %.1f\n", step+1, mean)
			if mean >= enough {
				break
			}
		}
	}
	return a.play(50, r)
}
