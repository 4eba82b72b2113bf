package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// warmUp is how many calls each caller makes before it is measured.
const warmUp = 30

// course is what a target did in its turns.
type course struct {
	name string
	// rate, p50, p99 and processor have a value for each round.
	rate, p50, p99, processor []float64
}

// driver makes the calls of one turn and returns the time of each.
type driver func(ctx context.Context, callers []caller) ([]time.Duration, error)

// inTurns lets the targets take turns, with that many callers each, and returns
// what each did. The next round begins with the next target.
func (b *bench) inTurns(ctx context.Context, targets []target, clients int, drive driver) (_ []course, err error) {
	callers := make([][]caller, len(targets))
	defer func() {
		for _, c := range slices.Concat(callers...) {
			err = errors.Join(err, c.close())
		}
	}()
	courses := make([]course, len(targets))
	for i, t := range targets {
		courses[i].name = t.name
		for range clients {
			c, err := t.open(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			callers[i] = append(callers[i], c)
			for range warmUp {
				if err := c.call(); err != nil {
					return nil, fmt.Errorf("%s: %w", t.name, err)
				}
			}
		}
	}
	for round := range b.rounds {
		for i := range targets {
			i = (i + round) % len(targets)
			before, begun := processorTime(targets[i].pid), time.Now()
			took, err := targets[i].drive(ctx, drive, callers[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", targets[i].name, err)
			}
			length := time.Since(begun)
			c, calls := &courses[i], float64(len(took))
			c.rate = append(c.rate, calls/length.Seconds())
			c.p50 = append(c.p50, float64(percentile(took, 50)))
			c.p99 = append(c.p99, float64(percentile(took, 99)))
			c.processor = append(c.processor, float64(processorTime(targets[i].pid)-before)/calls)
		}
	}
	return courses, nil
}

// drive makes the calls of one turn, beside what else runs during it.
func (t *target) drive(ctx context.Context, drive driver, callers []caller) ([]time.Duration, error) {
	if t.beside != nil {
		during, end := context.WithCancel(ctx)
		var running sync.WaitGroup
		running.Go(func() { t.beside(during) })
		defer running.Wait()
		defer end()
	}
	return drive(ctx, callers)
}

// atOnce keeps all callers busy for a turn.
func (b *bench) atOnce(ctx context.Context, callers []caller) ([]time.Duration, error) {
	took, failed := make([][]time.Duration, len(callers)), make([]error, len(callers))
	end := time.Now().Add(b.turn)
	var running sync.WaitGroup
	for i, c := range callers {
		running.Go(func() {
			for begun := time.Now(); begun.Before(end) && ctx.Err() == nil; {
				if failed[i] = c.call(); failed[i] != nil {
					return
				}
				now := time.Now()
				took[i] = append(took[i], now.Sub(begun))
				begun = now
			}
		})
	}
	running.Wait()
	return slices.Concat(took...), errors.Join(append(failed, ctx.Err())...)
}

// pacedRate is the rate of a turn with planned times, in calls a second.
const pacedRate = 1000

// paced makes calls at planned times, however long the answers take, and
// returns the time of each from its planned start.
func (b *bench) paced(ctx context.Context, callers []caller) ([]time.Duration, error) {
	return pace(ctx, callers, pacedRate, b.planned)
}

// pace makes n calls at a rate per second. A caller that is free takes the next
// one.
func pace(ctx context.Context, callers []caller, rate float64, n int) ([]time.Duration, error) {
	took, failed := make([]time.Duration, n), make([]error, len(callers))
	var next atomic.Int64
	var running sync.WaitGroup
	begun := time.Now()
	for k, c := range callers {
		running.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
				planned := begun.Add(time.Duration(float64(i) / rate * float64(time.Second)))
				time.Sleep(time.Until(planned))
				if failed[k] = c.call(); failed[k] != nil {
					return
				}
				took[i] = time.Since(planned)
			}
		})
	}
	running.Wait()
	return took, errors.Join(append(failed, ctx.Err())...)
}

// percentile returns the value below which p of a hundred are. It sorts.
func percentile[T ~int64 | ~float64 | ~int](v []T, p int) T {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[min(len(v)*p/100, len(v)-1)]
}

// median leaves the order as it is.
func median[T ~int64 | ~float64 | ~int](v []T) T { return percentile(slices.Clone(v), 50) }

// row returns the figures of a course.
func (c *course) row(what string) figure {
	return figure{
		What: what, PerSecond: median(c.rate), P50: time.Duration(median(c.p50)), P99: time.Duration(median(c.p99)),
		// A turn has few of the ticks in which the kernel counts: the mean says more.
		Processor: time.Duration(mean(c.processor)),
	}
}

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}

// medianRatio returns the median of the ratios of each round. Rounds in which
// the other value is not positive say nothing.
func medianRatio(values, others []float64) float64 {
	var ratios []float64
	for i, v := range values {
		if others[i] > 0 {
			ratios = append(ratios, v/others[i])
		}
	}
	return median(ratios)
}
