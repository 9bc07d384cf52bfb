package initializer

// Zero sets weights to 0.
type Zero struct{}

// One sets weights to 1.
type One struct{}

// Constant sets weights to a value.
type Constant struct {
	Value float64 `json:"value"`
}

// Uniform draws weights from [-Scale, Scale).
type Uniform struct {
	Scale float64 `json:"scale,omitempty"` // 0: 0.07
}

// Normal draws weights from a normal distribution of mean 0.
type Normal struct {
	Sigma float64 `json:"sigma,omitempty"` // standard deviation; 0: 0.01
}

// Weight fills dst.
func (Zero) Weight(_ Desc, dst []float32) error { return Constant{0}.Weight(Desc{}, dst) }

// Weight fills dst.
func (One) Weight(_ Desc, dst []float32) error { return Constant{1}.Weight(Desc{}, dst) }

// Weight fills dst.
func (c Constant) Weight(_ Desc, dst []float32) error {
	for i := range dst {
		dst[i] = float32(c.Value)
	}
	return nil
}

// Weight fills dst.
func (u Uniform) Weight(d Desc, dst []float32) error {
	uniform(d, dst, orDefault(u.Scale, 0.07))
	return nil
}

// Weight fills dst.
func (n Normal) Weight(d Desc, dst []float32) error {
	normal(d, dst, orDefault(n.Sigma, 0.01))
	return nil
}

func uniform(d Desc, dst []float32, scale float64) {
	r := d.Rand()
	for i := range dst {
		dst[i] = float32((r.Float64()*2 - 1) * scale)
	}
}

func normal(d Desc, dst []float32, sigma float64) {
	r := d.Rand()
	for i := range dst {
		dst[i] = float32(r.NormFloat64() * sigma)
	}
}

func orDefault(v, d float64) float64 {
	if v == 0 {
		return d
	}
	return v
}
