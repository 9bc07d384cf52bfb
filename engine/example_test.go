package engine_test

import (
	"context"
	"errors"
	"fmt"

	"gomx/engine"
)

func Example() {
	e, err := engine.New(engine.Config{})
	if err != nil {
		panic(err)
	}
	defer e.Close()
	ctx := context.Background()
	a, b := e.NewVar("a"), e.NewVar("b")
	var x, y float64
	e.Push(&engine.Task{
		Name: "x = 3",
		Fn:   func(*engine.Run) error { x = 3; return nil },
		Uses: []engine.Use{{Var: a, Access: engine.Overwrite}},
	})
	e.Push(&engine.Task{
		Name: "y = x * x",
		Fn:   func(*engine.Run) error { y = x * x; return nil },
		Uses: []engine.Use{{Var: a, Access: engine.Read}, {Var: b, Access: engine.Overwrite}},
	})
	if err := e.WaitRead(ctx, b); err != nil {
		panic(err)
	}
	fmt.Println(y, "version", b.Version())
	// Output: 9 version 1
}

// A failure travels along the dependences and surfaces where a result is wanted.
func Example_errors() {
	e, _ := engine.New(engine.Config{})
	defer e.Close()
	ctx := context.Background()
	a, b := e.NewVar("a"), e.NewVar("b")
	e.Push(&engine.Task{
		Name:     "load",
		Fn:       func(*engine.Run) error { return errors.New("file is truncated") },
		Uses:     []engine.Use{{Var: a, Access: engine.Overwrite}},
		Describe: func() string { return "float32 (2,3)" },
	})
	sum := engine.Task{
		Name: "sum",
		Fn:   func(*engine.Run) error { return nil },
		Uses: []engine.Use{{Var: a, Access: engine.Read}, {Var: b, Access: engine.Overwrite}},
	}
	e.Push(&sum)
	fmt.Println(e.WaitRead(ctx, b))

	e.Push(&engine.Task{
		Name: "load again",
		Fn:   func(*engine.Run) error { return nil },
		Uses: []engine.Use{{Var: a, Access: engine.Overwrite}},
	})
	e.Push(&sum)
	fmt.Println(e.WaitRead(ctx, b))
	// Output:
	// load on cpu(0) (float32 (2,3)): file is truncated
	// <nil>
}
