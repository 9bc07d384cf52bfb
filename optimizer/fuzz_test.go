package optimizer_test

import (
	"reflect"
	"testing"

	"gomx/optimizer"
)

// FuzzDecode checks that what is decoded can be encoded and decoded again.
func FuzzDecode(f *testing.F) {
	f.Add(`{"name":"sgd","params":{"learning_rate":0.1,"lr_scheduler":{"name":"factor","params":{"step":1000}}}}`)
	f.Add(`{"name":"adam","params":{"beta1":0,"lr_mult":{"a":2}}}`)
	f.Add(`{"name":"sgd","params":{"lr_scheduler":{"name":"multifactor","params":{"step":[1,2]}}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		o, err := optimizer.Decode([]byte(text))
		if err != nil {
			return
		}
		data, err := optimizer.Encode(o)
		if err != nil {
			t.Fatal(err)
		}
		again, err := optimizer.Decode(data)
		if err != nil || !reflect.DeepEqual(o, again) {
			t.Errorf("%s: %+v, %v, want %+v", data, again, err, o)
		}
		_, _ = optimizer.NewUpdater(o, []string{"w_weight"})
	})
}
