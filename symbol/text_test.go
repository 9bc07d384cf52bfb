package symbol_test

import (
	"fmt"
	"testing"

	"gomx/dtype"
	sym "gomx/symbol"
)

// What fmt prints of symbols and executors is short and says what they are.
func TestText(t *testing.T) {
	x := sym.Var("data")
	y := sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 3}, sym.Name("fc"))
	parts := sym.SliceChannel(y, sym.SliceChannelParams{NumOutputs: 3}, sym.Name("cut"))
	ex, err := y.SimpleBind(sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {2, 4}}})
	if err != nil {
		t.Fatal(err)
	}
	open := fmt.Sprint(ex)
	ex.Close()
	var none *sym.Symbol
	var unbound *sym.Executor
	for _, c := range []struct{ got, want string }{
		{fmt.Sprint(x), "<Symbol data>"},
		{fmt.Sprintf("%v", y), "<Symbol fc>"},
		{fmt.Sprintf("%+v", y), "<Symbol fc>"},
		{fmt.Sprint(parts), "<Symbol cut>"},
		{fmt.Sprint(sym.Group(y, parts.At(1))), "<Symbol group [fc, cut]>"},
		{fmt.Sprint(none), "<Symbol: nil>"},
		{open, "<Executor fc: 3 arguments, 3 gradients, 0 auxiliary states on cpu(0)>"},
		{fmt.Sprint(ex), "<Executor fc: closed>"},
		{fmt.Sprint(unbound), "<Executor: nil>"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}
