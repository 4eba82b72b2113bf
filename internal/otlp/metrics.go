package otlp

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/sallyport/sallyport/internal/tracing"
)

// MetricKind says what the points of a family are.
type MetricKind int

// The kinds.
const (
	// Gauge is a value of now.
	Gauge MetricKind = iota
	// Counter is a sum since the start that only grows.
	Counter
	// Histogram counts values by their size since the start.
	Histogram
)

// Family is the metrics of one name.
type Family struct {
	// Name and Help are those of Prometheus.
	Name, Help string
	// Kind is that of every point.
	Kind MetricKind
	// Points are the metrics, by their labels.
	Points []Point
}

// Point is one metric of a family.
type Point struct {
	// Labels are pairs of a name and a value.
	Labels [][2]string
	// Value is that of a gauge or a counter, and the sum of a histogram.
	Value float64
	// Bounds are the upper bounds of the buckets of a histogram, but for the last one.
	Bounds []float64
	// Counts are how many values are in each bucket, one more than bounds.
	Counts []uint64
}

// Fields of opentelemetry.proto.metrics.v1.
const (
	metricName, metricHelp, metricGauge, metricSum, metricHistogram field = 1, 2, 5, 7, 9
	dataPoints, dataTemporality, sumMonotonic                       field = 1, 2, 3
	pointStart, pointTime, pointDouble, pointAttrs                  field = 2, 3, 4, 7
	histogramCount, histogramSum, histogramCounts, histogramBounds  field = 4, 5, 6, 7
	histogramAttrs                                                  field = 9
)

// cumulative is the temporality of sums since the start.
const cumulative = 2

// period is the time that points are about.
type period struct{ start, now uint64 }

// appendFamilies appends the request that exports metrics.
func (s *Source) appendFamilies(b []byte, families []Family, start, now time.Time) []byte {
	p := period{unixNano(start), unixNano(now)}
	return requestResources.appendMessage(b, func(b []byte) []byte {
		return resourceScopes.appendMessage(s.appendResource(b), func(b []byte) []byte {
			b = s.appendScope(b)
			for i := range families {
				b = scopeItems.appendMessage(b, func(b []byte) []byte { return p.appendFamily(b, &families[i]) })
			}
			return b
		})
	})
}

// appendFamily appends one metric with its points.
func (p period) appendFamily(b []byte, f *Family) []byte {
	b = metricHelp.appendText(metricName.appendText(b, f.Name), f.Help)
	in, appendPoint := metricGauge, p.appendNumber
	switch f.Kind {
	case Gauge:
	case Counter:
		in = metricSum
	case Histogram:
		in, appendPoint = metricHistogram, p.appendHistogram
	}
	return in.appendMessage(b, func(b []byte) []byte {
		for i := range f.Points {
			b = dataPoints.appendMessage(b, func(b []byte) []byte { return appendPoint(b, &f.Points[i]) })
		}
		if f.Kind != Gauge {
			b = dataTemporality.appendNumber(b, cumulative)
		}
		if f.Kind == Counter {
			b = sumMonotonic.appendNumber(b, 1)
		}
		return b
	})
}

func (p period) appendNumber(b []byte, at *Point) []byte {
	b = pointTime.appendFixed(pointStart.appendFixed(b, p.start), p.now)
	return appendLabels(pointDouble.appendDouble(b, at.Value), pointAttrs, at)
}

func (p period) appendHistogram(b []byte, at *Point) []byte {
	b = pointTime.appendFixed(pointStart.appendFixed(b, p.start), p.now)
	all, counts, bounds := uint64(0), []byte{}, []byte{}
	for _, n := range at.Counts {
		all += n
		counts = binary.LittleEndian.AppendUint64(counts, n)
	}
	for _, bound := range at.Bounds {
		bounds = binary.LittleEndian.AppendUint64(bounds, math.Float64bits(bound))
	}
	b = histogramSum.appendDouble(histogramCount.appendFixed(b, all), at.Value)
	b = histogramBounds.appendBytes(histogramCounts.appendBytes(b, counts), bounds)
	return appendLabels(b, histogramAttrs, at)
}

func appendLabels(b []byte, f field, at *Point) []byte {
	for _, l := range at.Labels {
		if l[1] == "" {
			continue // the same as none
		}
		b = appendAttr(b, f, &tracing.Attr{Key: l[0], Text: l[1]})
	}
	return b
}
