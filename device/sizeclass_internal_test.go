package device

import "testing"

func TestClasses(t *testing.T) {
	for c := range numClasses {
		size := classSize(c)
		if size%64 != 0 {
			t.Fatalf("class %d has %d bytes, want a multiple of 64", c, size)
		}
		if got, ok := classOf(size); !ok || got != c {
			t.Fatalf("classOf(%d) = %d, want %d", size, got, c)
		}
		if got, ok := classOf(size + 1); c+1 < numClasses && (!ok || got != c+1) {
			t.Fatalf("classOf(%d) = %d, want %d", size+1, got, c+1)
		}
	}
	if got := classSize(numClasses - 1); got != 1<<maxExponent {
		t.Fatalf("largest class %d, want %d", got, 1<<maxExponent)
	}
}
