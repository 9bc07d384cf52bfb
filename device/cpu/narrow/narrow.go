package narrow

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"gomx/device"
)

// Choice is the set of classes of products that compute in bfloat16, with its origin.
type Choice struct {
	Products  device.Products
	Processor string // model of the processor and its instructions
	Source    string // origin of the choice, such as "table" or "probe"
	// Speed is the time in float32 divided by the time in bfloat16 of every class that has been
	// measured; nil: none.
	Speed map[device.Product]float64
}

// String describes the choice on one line.
func (c Choice) String() string {
	return fmt.Sprintf("products in bfloat16: %v (%s, %s)", c.Products, c.Source, c.Processor)
}

// Speeds lists the measured classes with their speeds.
func (c Choice) Speeds() string {
	var list []string
	for _, p := range device.AllProducts.List() {
		if v, ok := c.Speed[p]; ok {
			list = append(list, fmt.Sprintf("%v %.2f", p, v))
		}
	}
	return strings.Join(list, ", ")
}

// process is the choice of this process.
var process struct {
	mu     sync.Mutex
	folder string
	choice *Choice // nil: not made yet
}

// Keep names the folder in which measurements of unknown processors are kept; empty: they are made
// once for each process. It has an effect on the first call of Chosen.
func Keep(folder string) {
	process.mu.Lock()
	defer process.mu.Unlock()
	process.folder = folder
}

// Use sets the choice of the process; source says where it comes from. Networks that are bound
// already keep theirs.
func Use(p device.Products, source string) {
	process.mu.Lock()
	defer process.mu.Unlock()
	process.choice = &Choice{Products: p, Source: source, Processor: model()}
}

// Chosen returns the choice of the process. The first call may measure the processor.
func Chosen() Choice {
	process.mu.Lock()
	defer process.mu.Unlock()
	if process.choice == nil {
		c := choose(host{model(), instructions(), probe}, process.folder)
		process.choice = &c
	}
	return *process.choice
}

// model names the processor together with the instructions that its kernels use.
func model() string {
	name := device.Processor()
	if i := instructions(); i != "" {
		name += ", " + i
	}
	return name
}

// host is a processor to choose for.
type host struct {
	model        string
	instructions string
	probe        func() map[device.Product]float64
}

// choose makes the choice for a host.
func choose(h host, folder string) Choice {
	c := Choice{Processor: h.model}
	if h.instructions == "" {
		c.Source = "no instructions for bfloat16"
		return c
	}
	if speed := measured(h.model); speed != nil {
		c.Source, c.Speed, c.Products = "table", speed, faster(speed)
		return c
	}
	if folder == "" {
		c.Source, c.Speed = "probe", h.probe()
		c.Products = faster(c.Speed)
		return c
	}
	speed, err := load(folder, h.model)
	if err == nil {
		c.Source, c.Speed, c.Products = "file "+fileIn(folder), speed, faster(speed)
		return c
	}
	c.Source, c.Speed = "probe", h.probe()
	c.Products = faster(c.Speed)
	if err := keep(folder, h.model, c.Speed); err != nil {
		c.Source = fmt.Sprintf("probe that could not be kept: %v", err)
	}
	return c
}

// gain is the factor by which kernels in bfloat16 must be faster for a class to be chosen: a little
// is lost in conversions at the borders of layers.
const gain = 1.05

// faster returns the classes that are faster in bfloat16.
func faster(speed map[device.Product]float64) device.Products {
	var list []device.Product
	for p, v := range speed {
		if v >= gain {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return device.ProductsOf(list...)
}
