package data_test

import (
	"testing"

	"gomx/examples/data"
	nd "gomx/ndarray"
)

func TestDigits(t *testing.T) {
	set := data.Open(t.TempDir())
	if set.Name != "digits" {
		t.Fatalf("an empty folder gives %q, want digits", set.Name)
	}
	train, err := set.Train(32, 1)
	if err != nil {
		t.Fatal(err)
	}
	test, err := set.Test(32)
	if err != nil {
		t.Fatal(err)
	}
	if train.Samples() != 1437 || test.Samples() != 360 {
		t.Errorf("%d and %d images, want 1437 and 360", train.Samples(), test.Samples())
	}
	if s := train.ProvideData()[0].Shape; !s.Equal(nd.Shape{32, 1, set.Size, set.Size}) {
		t.Errorf("batches of shape %v", s)
	}
	images, tests, err := set.Arrays()
	if err != nil || !images[0].Shape().Equal(nd.Shape{1437, 1, 8, 8}) ||
		!tests[1].Shape().Equal(nd.Shape{360}) {
		t.Errorf("arrays %v and %v, %v", images, tests, err)
	}
}
