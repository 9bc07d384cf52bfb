package narrow_test

import (
	"fmt"

	"gomx/device"
	"gomx/device/cpu/narrow"
)

func ExampleUse() {
	before := narrow.Chosen() // of this processor
	narrow.Use(device.ProductsOf(device.Convolutions, device.DenseProducts), "example")
	fmt.Println(narrow.Chosen().Products)
	narrow.Use(before.Products, before.Source)
	// Output: convolution,dense
}
