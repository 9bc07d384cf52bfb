package metric

import nd "gomx/ndarray"

// Composite returns a metric that updates several metrics and returns the values of all.
func Composite(metrics ...Metric) Metric { return composite(metrics) }

type composite []Metric

func (c composite) Update(labels, preds []*nd.Array) error {
	for _, m := range c {
		if err := m.Update(labels, preds); err != nil {
			return err
		}
	}
	return nil
}

func (c composite) Value() (names []string, values []float64) {
	for _, m := range c {
		n, v := m.Value()
		names, values = append(names, n...), append(values, v...)
	}
	return names, values
}

func (c composite) Window() (names []string, values []float64) {
	for _, m := range c {
		n, v := Window(m)
		names, values = append(names, n...), append(values, v...)
	}
	return names, values
}

// AppendLast implements Recent.
func (c composite) AppendLast(list []float64) []float64 {
	for _, m := range c {
		list = AppendLast(list, m)
	}
	return list
}

func (c composite) ResetWindow() {
	for _, m := range c {
		if w, ok := m.(Windowed); ok {
			w.ResetWindow()
		}
	}
}

func (c composite) Reset() {
	for _, m := range c {
		m.Reset()
	}
}

// Window returns the values of m's window, or its values since Reset if it is not Windowed.
func Window(m Metric) (names []string, values []float64) {
	if w, ok := m.(Windowed); ok {
		return w.Window()
	}
	return m.Value()
}
