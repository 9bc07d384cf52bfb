// Serve answers requests over HTTP with the classes of digits. Requests that come at about the same
// time are computed together; /metrics counts them for Prometheus; SIGTERM lets the server finish
// the requests that it has begun.
//
//	go run ./examples/serve -addr localhost:8080 &
//	curl -d '{"pixels": [0, 0, 0.5, …]}' localhost:8080/classify
//
// With -check it serves test images to clients of its own, and ends itself by SIGTERM meanwhile.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"gomx/checkpoint"
	images "gomx/examples/data"
	"gomx/initializer"
	"gomx/module"
	"gomx/optimizer"
	sym "gomx/symbol"
)

const (
	side  = 8
	least = 0.88 // share of test images that must be classified correctly
)

func main() {
	addr := flag.String("addr", "localhost:0", "address to listen at")
	prefix := flag.String("model", "", "prefix of a checkpoint for images of 8×8 pixels; one is "+
		"trained by default")
	epoch := flag.Int("epoch", 0, "epoch of the checkpoint")
	checking := flag.Bool("check", false, "send requests, check the answers and end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, *addr, *prefix, *epoch, *checking); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx ends, and until the requests that have begun are answered.
func run(ctx context.Context, addr, prefix string, epoch int, checking bool) error {
	var model *checkpoint.Model
	var err error
	if prefix != "" {
		model, err = checkpoint.Load(prefix, epoch)
	} else {
		model, err = train(ctx, 12)
	}
	if err != nil {
		return err
	}
	b, err := newBatcher(model, 32, 2*time.Millisecond)
	if err != nil {
		return err
	}
	defer b.close()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	log.Printf("listening at http://%v", listener.Addr())
	server := &http.Server{Handler: b.handler(), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	checked := make(chan error, 1)
	if checking {
		go func() { checked <- check("http://"+listener.Addr().String(), b) }()
	}
	select {
	case err := <-failed:
		return err
	case err := <-checked: // the check has failed before it sent SIGTERM
		return errors.Join(err, server.Close())
	case <-ctx.Done():
	}
	log.Print("finishing the requests that have begun")
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	if err := server.Shutdown(patience); err != nil {
		return err
	}
	if checking {
		return <-checked
	}
	return nil
}

// train trains a network on the digits that are part of the program.
func train(ctx context.Context, epochs int) (*checkpoint.Model, error) {
	x := sym.Var("data")
	for i, filters := range []int{16, 32} {
		x = sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1},
			NumFilter: filters}, sym.Name(fmt.Sprint("conv", i)))
		x = sym.Pooling(sym.Relu(x), sym.PoolingParams{PoolType: "max", Kernel: []int{2, 2},
			Stride: []int{2, 2}})
	}
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 10}, sym.Name("fc"))
	data, err := images.Digits().Train(32, 1)
	if err != nil {
		return nil, err
	}
	mod := module.New(sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax")),
		module.Seed(1))
	err = mod.Fit(ctx, data, module.Epochs(epochs), module.Init(initializer.Xavier{}),
		module.Optimize(optimizer.Adam{LR: 3e-3}))
	return mod.Model(), err
}
