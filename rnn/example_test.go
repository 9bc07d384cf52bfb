package rnn_test

import (
	"fmt"

	"gomx/rnn"
	sym "gomx/symbol"
)

func ExampleUnroll() {
	cell := rnn.Stack{&rnn.LSTMCell{Hidden: 8, Prefix: "l0_"}, &rnn.GRUCell{Hidden: 4,
		Prefix: "l1_"}}
	y, states := rnn.Unroll(cell, 3, sym.Var("data"))
	for _, name := range y.Arguments() {
		fmt.Println(name)
	}
	fmt.Println("states:", len(states))
	// Output:
	// data
	// l0_i2h_weight
	// l0_i2h_bias
	// l0_h2h_weight
	// l0_h2h_bias
	// l1_i2h_weight
	// l1_i2h_bias
	// l1_h2h_weight
	// l1_h2h_bias
	// states: 3
}
