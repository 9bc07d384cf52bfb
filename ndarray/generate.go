package ndarray

//go:generate go run gomx/internal/opgen
