package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gomx/device"
	"gomx/dtype"
	"gomx/module"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// precisions are the number formats in which networks compute on devices other than the processor.
var precisions = []string{"float32", "tf32", "float16", "bfloat16"}

// checkDevice returns an error if the suite cannot be measured on the device or in the precision.
func (c *Config) checkDevice() error {
	if c.Precision == "" {
		c.Precision = "float32"
	}
	switch {
	case !slices.Contains(precisions, c.Precision):
		return fmt.Errorf("bench: precision %q, want one of %s", c.Precision,
			strings.Join(precisions, ", "))
	case c.Device == device.CPU():
		if c.Precision != "float32" {
			return fmt.Errorf("bench: precision %s on the processor, want another device",
				c.Precision)
		}
		return nil
	case c.Suite != "convnets":
		return fmt.Errorf("bench: suite %s on %v, want suite convnets on devices other "+
			"than the processor", c.Suite, c.Device)
	}
	if _, err := device.PoolOf(c.Device); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	return allowTF32(c.Precision == "tf32")
}

// onGPU is the suite convnets for a GPU: larger batches and several precisions, compared with torch
// on the same GPU, eager and compiled.
func onGPU(c *Config) Suite {
	return Suite{Name: "convnets", Script: "gpunets.py", args: onlyLine, variants: eagerAndCompiled,
		Workloads: func() ([]Workload, error) {
			resnet18, resnet50 := resnet(false, []int{2, 2, 2, 2}, 1000),
				resnet(true, []int{3, 4, 6, 3}, 1000)
			return []Workload{
				c.gpuNetwork("tiny", resnet(false, []int{1, 1}, 10), 2, 32, false),
				c.gpuNetwork("tiny", resnet(false, []int{1, 1}, 10), 2, 32, true),
				c.gpuNetwork("resnet18_v1", resnet18, 128, 224, true),
				c.gpuNetwork("resnet50_v1", resnet50, 1, 224, false),
				c.gpuNetwork("resnet50_v1", resnet50, 128, 224, false),
				c.gpuNetwork("resnet50_v1", resnet50, 128, 224, true),
				c.gpuNetwork("alexnet", alexnet(1000), 256, 224, true),
				c.gpuNetwork("mobilenet1_0", mobilenet(1000), 128, 224, true),
			}, nil
		}}
}

// eagerAndCompiled are torch's variants.
func eagerAndCompiled(p Peer) []variant {
	return []variant{{p.Name + " eager", nil}, {p.Name + " compiled",
		[]string{"GOMX_BENCH_COMPILE=1"}}}
}

// gpuNetwork measures images per second of one network: the best of three series of ten steps,
// after three steps to warm up. The steps of a series do not wait for each other.
func (c *Config) gpuNetwork(name string, net *sym.Symbol, batch, side int, training bool) Workload {
	mode := "infer"
	if training {
		mode = "train"
	}
	opts := []module.Option{module.On(c.Device), module.Streams(c.Streams)}
	if c.Replay {
		opts = append(opts, module.Replay())
	}
	switch c.Precision {
	case "float16":
		opts = append(opts, module.MixedPrecision(dtype.Float16))
	case "bfloat16":
		opts = append(opts, module.MixedPrecision(dtype.BFloat16))
	}
	run := func(ctx context.Context) (float64, error) {
		push, err := networkPush(net, nd.Shape{batch, 3, side, side}, training,
			opts...)
		if err != nil {
			return 0, err
		}
		steps := func(n int) error {
			for range n {
				if err := push(); err != nil {
					return err
				}
			}
			return nd.WaitAll(ctx)
		}
		if err := steps(3); err != nil {
			return 0, err
		}
		const each = 10
		least := 0.0
		for range 3 {
			start := time.Now()
			if err := steps(each); err != nil {
				return 0, err
			}
			if s := time.Since(start).Seconds(); least == 0 || s < least {
				least = s
			}
		}
		return each * float64(batch) / least, nil
	}
	return Workload{Name: fmt.Sprintf("convnets.%s.%s.bs%d.%d.%s", name, mode, batch, side,
		c.Precision), Unit: "images/s", Run: run}
}
