package trainer

import (
	"gomx/initializer"
	"gomx/kvstore/rows"
)

// RowInit returns the way in which an initializer begins the rows of a row_sparse parameter, in a
// store or in this process, whatever the name of the parameter is; ok is false if rows depend on each
// other or on more than their numbers.
func RowInit(init initializer.Initializer, d initializer.Desc) (in rows.Init, ok bool) {
	if d.Init != "" {
		var err error
		if init, err = initializer.Parse(d.Init); err != nil {
			return in, false
		}
	}
	in.Seed = d.Seed
	switch i := init.(type) {
	case initializer.Zero:
	case initializer.One:
		in.Scale = 1
	case initializer.Constant:
		in.Scale = i.Value
	case initializer.Uniform:
		in.Kind, in.Scale = rows.KindUniform, i.Scale
		if i.Scale == 0 {
			in.Scale = 0.07
		}
	case initializer.Normal:
		in.Kind, in.Scale = rows.KindNormal, i.Sigma
		if i.Sigma == 0 {
			in.Scale = 0.01
		}
	default:
		return in, false
	}
	return in, true
}
