package tensorboard_test

import (
	"encoding/hex"
	"testing"

	"gomx/runs/tensorboard"
)

// TestRecord compares one record with the bytes that TensorBoard 2.21 writes for
// Event(wall_time=1, step=2, summary=Summary(value=[Value(tag="a", simple_value=0.5)])).
func TestRecord(t *testing.T) {
	var e tensorboard.Encoder
	got := hex.EncodeToString(e.Scalar(nil, tensorboard.At{Step: 2, Time: 1e9}, "a", 0.5))
	const want = "1700000000000000e7cef81e09000000000000f03f10022a0a0a080a0161150000003f400ae3a6" +
		""
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
