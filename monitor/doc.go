// Package monitor shows jobs to other programs: metrics for Prometheus, and traces of training
// steps for collectors of OpenTelemetry. It is the only package that knows their client libraries.
//
// Package launch gives Handler to the processes of a job, which serve it as the page /metrics:
//
//	cfg.Metrics = monitor.Handler
//
// Table lists all metrics with their meaning. Names of counters end with _total. Every metric has
// the label node ("server 0"); metrics of the scheduler about other processes have the label
// member, metrics about shards the label shard. The rules for alerts in deploy/prometheus and the
// dashboard in deploy/grafana use these names; a test compares them with Table.
package monitor
