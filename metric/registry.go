package metric

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// makers maps MXNet's names, class names and aliases, in lower case, to constructors.
var makers = map[string]func(map[string]any) (Metric, error){
	"accuracy":              plain(Accuracy, "axis"),
	"acc":                   plain(Accuracy, "axis"),
	"topkaccuracy":          topK,
	"top_k_accuracy":        topK,
	"top_k_acc":             topK,
	"f1":                    plain(F1, "average"),
	"mcc":                   plain(MCC, "average"),
	"pcc":                   plain(PCC),
	"mae":                   plain(MAE),
	"mse":                   plain(MSE),
	"rmse":                  plain(RMSE),
	"crossentropy":          plain(CrossEntropy, "eps"),
	"ce":                    plain(CrossEntropy, "eps"),
	"negativeloglikelihood": plain(NegativeLogLikelihood, "eps"),
	"nll_loss":              plain(NegativeLogLikelihood, "eps"),
	"perplexity":            plain(Perplexity, "axis", "ignore_label"),
	"pearsoncorrelation":    plain(PearsonCorrelation, "average"),
	"pearsonr":              plain(PearsonCorrelation, "average"),
	"loss":                  plain(Loss),
}

// New makes a metric from MXNet's name and keyword arguments: New("top_k_accuracy",
// map[string]any{"top_k": 5}). Numbers may be of type int or float64.
func New(name string, kwargs map[string]any) (Metric, error) {
	mk := makers[strings.ToLower(name)]
	if mk == nil {
		return nil, fmt.Errorf("metric: unknown name %q, want one of %s", name,
			strings.Join(Names(), ", "))
	}
	m, err := mk(kwargs)
	if err != nil {
		return nil, fmt.Errorf("metric %s: %w", name, err)
	}
	return m, nil
}

// Names returns the names that New knows, sorted.
func Names() []string { return slices.Sorted(maps.Keys(makers)) }

func plain[M Metric](f func(...Option) M, heeds ...string) func(map[string]any) (Metric, error) {
	return func(kwargs map[string]any) (Metric, error) {
		opts, err := options(kwargs, heeds)
		return f(opts...), err
	}
}

func topK(kwargs map[string]any) (Metric, error) {
	k, rest := 1, maps.Clone(kwargs)
	if v, ok := kwargs["top_k"]; ok {
		f, err := number("top_k", v)
		if err != nil {
			return nil, err
		}
		k = int(f)
		delete(rest, "top_k")
	}
	if k < 2 {
		return nil, fmt.Errorf("top_k is %d, want at least 2 (for 1 use accuracy)", k)
	}
	opts, err := options(rest, nil)
	return TopKAccuracy(k, opts...), err
}

func options(kwargs map[string]any, heeds []string) (opts []Option, err error) {
	for _, key := range slices.Sorted(maps.Keys(kwargs)) {
		v := kwargs[key]
		if key != "name" && !slices.Contains(heeds, key) {
			return nil, fmt.Errorf("unknown argument %q, want one of %s", key,
				strings.Join(append([]string{"name"}, heeds...), ", "))
		}
		if v == nil {
			continue
		}
		o, err := option(key, v)
		if err != nil {
			return nil, err
		}
		opts = append(opts, o)
	}
	return opts, nil
}

func option(key string, v any) (Option, error) {
	switch key {
	case "name":
		return Name(fmt.Sprint(v)), nil
	case "average":
		switch v {
		case "macro":
			return func(c *config) { c.micro = false }, nil
		case "micro":
			return Micro(), nil
		}
		return nil, fmt.Errorf("average is %q, want macro or micro", v)
	}
	f, err := number(key, v)
	if err != nil {
		return nil, err
	}
	switch key {
	case "axis":
		return Axis(int(f)), nil
	case "eps":
		return Eps(f), nil
	}
	return IgnoreLabel(f), nil
}

func number(key string, v any) (float64, error) {
	switch n := v.(type) {
	case int:
		return float64(n), nil
	case float64:
		return n, nil
	}
	return 0, fmt.Errorf("%s is %v, want a number", key, v)
}
