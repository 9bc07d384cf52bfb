package monitor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gomx/kvstore/spans"
	"gomx/kvstore/wire"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Traces records the spans of a process and exports them. It implements spans.Tracer.
type Traces struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	file     *os.File // nil: the spans are not written to a file
}

// NewTraces returns the traces of a node of a job, which end in an exporter. Spans are exported in
// batches, on a goroutine of their own.
func NewTraces(node wire.Node, job uint64, to sdk.SpanExporter) *Traces {
	about := resource.NewSchemaless(attribute.String("service.name", "gomx"),
		attribute.String("service.instance.id", node.String()),
		attribute.String("gomx.role", node.Role.String()),
		attribute.Int("gomx.rank", int(node.Rank)),
		attribute.String("gomx.job", fmt.Sprintf("%x", job)))
	p := sdk.NewTracerProvider(sdk.WithBatcher(to), sdk.WithResource(about),
		sdk.WithSampler(sdk.AlwaysSample()))
	return &Traces{provider: p, tracer: p.Tracer("gomx/kvstore")}
}

// OTLP as a destination of OpenTraces stands for a collector that speaks OTLP over HTTP.
const OTLP = "otlp"

// OpenTraces returns the traces of a node of a job. to is OTLP for a collector, whose address and
// other parameters are in the environment variables of OpenTelemetry (OTEL_EXPORTER_OTLP_ENDPOINT;
// by default http://localhost:4318), or a folder, in which each process writes a file of spans in
// JSON.
func OpenTraces(ctx context.Context, to string, node wire.Node, job uint64) (*Traces, error) {
	if to == OTLP {
		e, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("monitor: exporter of traces: %w", err)
		}
		return NewTraces(node, job, e), nil
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return nil, fmt.Errorf("monitor: folder for traces: %w", err)
	}
	name := strings.ReplaceAll(node.String(), " ", "-") + ".json"
	f, err := os.OpenFile(filepath.Join(to, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("monitor: file for traces: %w", err)
	}
	e, err := stdouttrace.New(stdouttrace.WithWriter(f))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("monitor: exporter of traces: %w", err), f.Close())
	}
	t := NewTraces(node, job, e)
	t.file = f
	return t, nil
}

// Begin implements spans.Tracer.
func (t *Traces) Begin(parent spans.Place, name string, at time.Time,
	attrs ...string) spans.Span {
	ctx := context.Background()
	if parent != (spans.Place{}) {
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: parent.Trace, SpanID: parent.Span, TraceFlags: trace.FlagsSampled,
			Remote: true}))
	}
	list := make([]attribute.KeyValue, 0, len(attrs)/2)
	for i := 0; i+1 < len(attrs); i += 2 {
		list = append(list, attribute.String("gomx."+attrs[i], attrs[i+1]))
	}
	_, s := t.tracer.Start(ctx, name, trace.WithTimestamp(at), trace.WithAttributes(list...))
	return span{s}
}

// span is a span of OpenTelemetry.
type span struct{ trace.Span }

// Place implements spans.Span.
func (s span) Place() spans.Place {
	c := s.SpanContext()
	return spans.Place{Trace: c.TraceID(), Span: c.SpanID()}
}

// End implements spans.Span.
func (s span) End(at time.Time) { s.Span.End(trace.WithTimestamp(at)) }

// Close exports the spans that are not yet exported and ends the exporter.
func (t *Traces) Close(ctx context.Context) error {
	err := t.provider.Shutdown(ctx)
	if t.file != nil {
		err = errors.Join(err, t.file.Close())
	}
	if err != nil {
		return fmt.Errorf("monitor: traces: %w", err)
	}
	return nil
}
