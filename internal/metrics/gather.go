package metrics

import (
	"math"

	dto "github.com/prometheus/client_model/go"

	"github.com/sallyport/sallyport/internal/otlp"
)

// Gather returns what a scrape would answer, for a collector: nothing is counted twice.
// Summaries are left out, which only the runtime of Go has.
func (m *Metrics) Gather() ([]otlp.Family, error) {
	if m == nil {
		return nil, nil
	}
	families, err := m.registry.Gather()
	list := make([]otlp.Family, 0, len(families))
	for _, f := range families {
		to := otlp.Family{Name: f.GetName(), Help: f.GetHelp()}
		switch f.GetType() {
		case dto.MetricType_COUNTER:
			to.Kind = otlp.Counter
		case dto.MetricType_GAUGE:
			to.Kind = otlp.Gauge
		case dto.MetricType_HISTOGRAM:
			to.Kind = otlp.Histogram
		default:
			continue
		}
		for _, metric := range f.GetMetric() {
			to.Points = append(to.Points, pointOf(metric))
		}
		list = append(list, to)
	}
	return list, err
}

// pointOf returns one metric of any of the kinds that are sent.
func pointOf(m *dto.Metric) (p otlp.Point) {
	for _, l := range m.GetLabel() {
		p.Labels = append(p.Labels, [2]string{l.GetName(), l.GetValue()})
	}
	h := m.GetHistogram()
	if h == nil {
		// One of them is there, and the other one is 0.
		p.Value = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		return p
	}
	p.Value = h.GetSampleSum()
	before := uint64(0) // buckets of Prometheus count what is in those below, too
	for _, b := range h.GetBucket() {
		if math.IsInf(b.GetUpperBound(), 1) {
			continue // the last one, which has no bound
		}
		p.Bounds, p.Counts = append(p.Bounds, b.GetUpperBound()), append(p.Counts, b.GetCumulativeCount()-before)
		before = b.GetCumulativeCount()
	}
	p.Counts = append(p.Counts, h.GetSampleCount()-before)
	return p
}
